"""A tenant's load balancers as the agent makes and removes them on one device."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace

from evenkeel.core.devices.service import ServiceDefinition, ServiceListener, ServicePool
from evenkeel.core.networking.networks import ServiceNetwork
from evenkeel.core.resources.model import SessionPersistence
from tests.devices.bigip.f5_agent import l7, links, removal, services, tenants, tls
from tests.devices.bigip.f5_agent.identities import with_uuids
from tests.devices.bigip.f5_agent.links import Attachment, Unit
from tests.devices.bigip.f5_agent.requests import Request
from tests.devices.bigip.f5_agent.tenants import Generation, Tenant
from tests.devices.services import listener, monitor, policy, rule


class Replay:
    """Load balancers in networks, or in global routed mode if they have none."""

    def __init__(
        self,
        tenant: Tenant,
        unit: Unit,
        balancers: Sequence[ServiceDefinition],
        snat: Mapping[str, ServiceNetwork] = MappingProxyType({}),
    ) -> None:
        self.tenant = tenant
        self.unit = unit
        self.balancers = list(balancers)
        self._snat = snat
        """By load balancer: networks for its source addresses alone."""
        self.networks = {each.id: each for one in balancers for each in one.networks}

    def place(self, wanted: ServiceDefinition) -> Attachment:
        if not wanted.networks:
            return Attachment()
        return links.attachment(self.tenant, self.unit, self._network_of(wanted), wanted.load_balancer_id)

    def _network_of(self, wanted: ServiceDefinition) -> ServiceNetwork:
        assert wanted.vip is not None
        return self.networks[wanted.vip.network_id]

    def requests(self) -> Iterator[Request]:
        """Everything, in the order of the API's calls."""
        yield from tenants.begin(self.tenant)
        yield from self._attach()
        for wanted in self.balancers:
            at = self.place(wanted)
            if wanted.load_balancer_id in self._snat:
                apart, own = self._snat[wanted.load_balancer_id], self._network_of(wanted)
                yield from links.large_snat(self.tenant, self.unit, wanted.load_balancer_id, apart, own)
            elif wanted.networks and self.tenant.generation is Generation.NETWORK and at.snat_pool:
                yield from links.balancers_snat(self.tenant, wanted.load_balancer_id, self._network_of(wanted))
            for each in wanted.listeners:
                yield from tls.create_profiles(self.tenant, each)
            yield from services.create_balancer(self.tenant, wanted, at)
            yield from services.create_rest(self.tenant, wanted, at)
            for each in wanted.listeners:
                yield from l7.create_policies(self.tenant, each, services.rules_of_all(self.tenant, wanted))

    def _attach(self) -> Iterator[Request]:
        names: list[str] = []
        done: list[ServiceNetwork] = []
        for network in self.networks.values():
            domain = links.domain_of(self.tenant, network)
            before = [each for each in done if links.domain_of(self.tenant, each) == domain]
            if not before:
                yield links.begin_domain(self.tenant, network)
            yield from links.attach(self.tenant, self.unit, network, others=before)
            done.append(network)
            if self.tenant.generation is Generation.TENANT:
                made = list(links.tenants_snat(self.tenant, network, before=names))
                yield from made
                names += [each.body["name"] for each in made if each.path == "ltm/snat-translation"]

    def deletions(self) -> Iterator[Request]:
        """The agent's own deletion of everything."""
        for wanted in self.balancers:
            yield from removal.remove_rest(self.tenant, wanted, self.place(wanted))
            if self.tenant.generation is Generation.NETWORK and wanted.networks:
                yield from links.without_balancers_snat(self.tenant, wanted.load_balancer_id, self._network_of(wanted))
            yield from removal.remove_balancer(self.tenant, wanted)
        if self.tenant.generation is Generation.TENANT:
            yield from links.without_tenants_snat(self.tenant, self.networks.values())
        left = list(self.networks.values())
        for network in self.networks.values():
            left.remove(network)
            last = network.route_domain not in {each.route_domain for each in left}
            yield from links.detach(self.tenant, self.unit, network, last=last)
        yield from tenants.end(self.tenant)


# -- a load balancer with something of everything

_COOKIE = SessionPersistence(type="APP_COOKIE", cookie_name="sid")
_OTHERS: Sequence[tuple[str, str, str, SessionPersistence | None]] = (
    ("TCP", "TCP", "LEAST_CONNECTIONS", None),
    ("HTTP", "HTTPS", "SOURCE_IP", None),
    ("HTTP", "PING", "ROUND_ROBIN", SessionPersistence(type="HTTP_COOKIE")),
    ("HTTPS", "UDP-CONNECT", "ROUND_ROBIN", SessionPersistence(type="SOURCE_IP")),
    ("UDP", "UDP-CONNECT", "LEAST_CONNECTIONS", SessionPersistence(type="SOURCE_IP")),
)
"""Protocol, type of monitor, algorithm and persistence of further listeners' pools."""


def _policies(target: str) -> tuple[Any, ...]:
    """Every action, comparison and type of rule."""
    host = rule(id="rule-1", type="HOST_NAME", compare_type="EQUAL_TO", value="a.example")
    header = rule(id="rule-2", type="HEADER", key="X-A", compare_type="CONTAINS", value="b", invert=True)
    cookie = rule(id="rule-3", type="COOKIE", key="c", compare_type="ENDS_WITH", value="d")
    file_type = rule(id="rule-4", type="FILE_TYPE", compare_type="EQUAL_TO", value="jpg")
    path = rule(id="rule-5", type="PATH", compare_type="STARTS_WITH", value="/private")
    regex = rule(id="rule-6", type="PATH", compare_type="REGEX", value="/v.*z")
    pool = {"action": "REDIRECT_TO_POOL", "redirect_pool_id": target}
    return (
        policy(1, host, id="policy-1", **pool),
        policy(2, header, cookie, id="policy-2", action="REDIRECT_TO_URL", redirect_url="https://b.example/"),
        policy(3, file_type, path, id="policy-3", action="REJECT"),
        policy(4, regex, id="policy-4", **pool),
    )


def of_everything(plain: ServiceDefinition) -> ServiceDefinition:
    """The load balancer, whose pool has two members at least, with listeners, pools, monitors, persistence and L7
    policies of all kinds, and with UUIDs as ids.
    """
    first = plain.pools[0]
    listeners: list[ServiceListener] = [replace(plain.listeners[0], l7policies=_policies("pool-101"))]
    pools: list[ServicePool] = [replace(first, session_persistence=_COOKIE)]
    pools.append(replace(first, id="pool-101", monitor=None, members=first.members[:1], session_persistence=_COOKIE))
    for number, (protocol, kind, algorithm, persistence) in enumerate(_OTHERS, 102):
        listeners.append(
            listener(number, protocol=protocol, protocol_port=8000 + number, default_pool_id=f"pool-{number}")
        )
        members = tuple(
            replace(each, id=f"{each.id}-{number}", weight=place) for place, each in enumerate(first.members)
        )
        pools.append(
            replace(
                first,
                id=f"pool-{number}",
                lb_algorithm=algorithm,
                protocol=protocol,
                monitor=monitor(number, type=kind),
                members=members,
                session_persistence=persistence,
            )
        )
    return with_uuids(replace(plain, listeners=tuple(listeners), pools=tuple(pools)))
