"""Checks whether names of a certificate lead to load balancers of the certificate's project that can answer
challenges.
"""

from collections.abc import Mapping, Sequence

from evenkeel.core.devices.capabilities import Capabilities
from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.ports import AcmeStore, NameResolver, Network, OperatorStore
from evenkeel.core.tls.acme.values import AcmeTarget

Targets = Mapping[str, tuple[LoadBalancerId, ...]]
"""Load balancers to which a name leads, by name."""


class DomainControlCheck:
    """Finds the load balancers to which names lead, and checks that they can answer challenges of http-01.

    ``capabilities``: by device driver. ``network``: source of floating IPs; None: there are none.
    """

    def __init__(
        self,
        store: AcmeStore,
        operators: OperatorStore,
        resolver: NameResolver,
        capabilities: Mapping[str, Capabilities],
        network: Network | None = None,
    ) -> None:
        self._store = store
        self._operators = operators
        self._resolver = resolver
        self._capabilities = capabilities
        self._network = network

    async def find_targets(self, project_id: ProjectId, names: Sequence[str]) -> Targets | str:
        """Return {name: load balancers to which it leads}, or the reason, a text, why a name cannot be proven
        by http-01. Raises :class:`DnsResolverUnavailable`, :class:`StoreUnavailable` and
        :class:`NetworkUnavailable`.
        """
        resolved: dict[str, tuple[str, ...]] = {}
        for name in names:
            resolved[name] = await self._resolver.addresses(name)
            if not resolved[name]:
                return f"{name} has no address in the DNS."
        every = sorted({address for addresses in resolved.values() for address in addresses})
        by_address = await self._targets_by_address(project_id, every)
        drivers = {each.name: each.device_driver for each in await self._operators.environments()}
        targets: dict[str, tuple[LoadBalancerId, ...]] = {}
        for name, addresses in resolved.items():
            # The authority may connect to any of the addresses, so all of them have to answer.
            for address in addresses:
                if address not in by_address:
                    return (
                        f"{name} has the address {address}, which is no VIP of a load balancer of the project, and no"
                        " floating IP of one."
                    )
            own = {each.load_balancer_id: each for address in addresses for each in by_address[address]}
            for target in own.values():
                if problem := self._target_problem(target, drivers.get(target.environment, "")):
                    return f"{name} leads to load balancer {target.load_balancer_id}, {problem}."
            targets[name] = tuple(sorted(own))
        return targets

    async def _targets_by_address(
        self, project_id: ProjectId, addresses: Sequence[str]
    ) -> Mapping[str, tuple[AcmeTarget, ...]]:
        """Return the project's load balancers by address, which is that of a VIP or of a VIP's floating IP;
        addresses without one are left out. Raises :class:`StoreUnavailable`, :class:`NetworkUnavailable`.
        """
        found = await self._store.find_challenge_targets(project_id, addresses)
        by_address = {each: tuple(one for one in found if each in one.addresses) for each in addresses}
        others = [each for each, targets in by_address.items() if not targets]
        if others and self._network is not None:
            floating = await self._network.look_up(
                "floatingips", {"floating_ip_address": others}, project_id=project_id
            )
            behind = {each["floating_ip_address"]: each for each in floating if each.get("port_id")}
            fixed = sorted({each["fixed_ip_address"] for each in behind.values()})
            found = await self._store.find_challenge_targets(project_id, fixed) if fixed else ()
            for address, one in behind.items():
                # By the port, too: networks of a project may have the same addresses.
                here = (each for each in found if each.port_id == one["port_id"])
                by_address[address] = tuple(each for each in here if one["fixed_ip_address"] in each.addresses)
        return {address: targets for address, targets in by_address.items() if targets}

    def _target_problem(self, target: AcmeTarget, driver: str) -> str:
        """Return why the load balancer cannot answer challenges, as the end of a sentence; empty if it can.
        ``driver``: the driver of its devices; empty: unknown.
        """
        table = self._capabilities.get(driver)
        if table is None or not table.http_challenges:
            return f"whose devices ({driver or 'of an unknown type'}) do not answer challenges"
        if target.mirrored:
            return "which only another system changes"
        if not target.placed:
            return "which is not on a device yet"
        if not target.admin_state_up:
            return "which is disabled"
        # Without a listener on the port, devices answer by one of their own.
        if target.port_taken and not target.has_http_listener:
            return "whose listener on port 80 is disabled or of another protocol than HTTP"
        return ""
