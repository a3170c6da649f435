"""Random service definitions with every attribute that a BIG-IP can have; :data:`tenants` are without TLS.

Strategies are made once: Hypothesis examines each new one before it draws from it, which takes longer than the draw."""

from functools import cache
from typing import Any, get_args

from hypothesis import strategies as st
from msgspec.structs import replace

from evenkeel.core.devices.service import ServiceDefinition, ServiceL7Policy
from evenkeel.core.networking.networks import NetworkType, ServiceNetwork, ServiceSubnet
from evenkeel.core.resources.model import LbAlgorithm, SessionPersistence, Vip
from evenkeel.devices.bigip.capabilities import CAPABILITIES, PROXY_PROTOCOLS
from tests.certificates import referring
from tests.devices.bigip.certificates import authority, certificate, revocation_list, tls_listener
from tests.devices.l7_behaviour import OTHERS, PATHS
from tests.devices.services import gone, listener, member, monitor, policy, pool, service

_text = st.text(alphabet='/ab%\\\r\n"{} \0é', max_size=10)
_seconds = st.sampled_from([None, 0, 1, 86_400])
_milliseconds = st.sampled_from([0, 1, 5_000, 50_000, 70_000, 31_536_000_000])
_switch = st.booleans()
_POOL_PROTOCOLS = tuple(sorted({name for names in CAPABILITIES.protocol_pairs.values() for name in names}))
_RULES = [case[0] for case in (*PATHS, *OTHERS)]
_MONITORS = {
    "UDP": ("UDP-CONNECT", "TCP", "HTTP"),
    "SCTP": ("UDP-CONNECT", "TCP", "HTTP"),
    **dict.fromkeys(PROXY_PROTOCOLS, ("HTTP", "TCP", "TLS-HELLO", "PING")),
}
_ANY_MONITOR = ("HTTP", "HTTPS", "TCP", "TLS-HELLO", "PING")


@cache
def _one_of(values: tuple[str, ...]) -> st.SearchStrategy[str]:
    return st.sampled_from(values)


_delay = st.integers(1, 60)
_codes = st.sampled_from([None, "200", "200-204", "200,404"])


@cache
@st.composite
def monitors(draw: st.DrawFn, number: int, protocol: str) -> Any:
    kind = draw(_one_of(_MONITORS.get(protocol, _ANY_MONITOR)))
    return monitor(
        number,
        id=f"monitor-{number}-{kind}",
        type=kind,
        delay=draw(_delay),
        url_path="/" + draw(_text),
        expected_codes=draw(_codes),
        admin_state_up=draw(_switch),
    )


_server = st.integers(1, 4)
_weight = st.sampled_from([0, 1, 1, 1, 7, 256])
_monitor_address = st.sampled_from([None, None, "10.3.0.1", "2001:db8::3:1"])
_monitor_port = st.sampled_from([None, None, 81, 9000])


@cache
@st.composite
def members(draw: st.DrawFn, number: int, place: int) -> Any:
    return member(
        draw(_server),
        place,
        id=f"member-{number}-{place}",
        address=draw(_one_of((f"10.2.0.{place}", f"2001:db8::{place}"))),
        weight=draw(_weight),
        backup=draw(_switch),
        admin_state_up=draw(_switch),
        monitor_address=draw(_monitor_address),
        monitor_port=draw(_monitor_port),
    )


_mask = st.sampled_from([None, "255.255.255.0", "255.255.255.255"])
_cookie = st.sampled_from(["JSESSIONID", "$a'"])


@cache
def _number_below(count: int) -> st.SearchStrategy[int | None]:
    return st.none() | st.sampled_from(range(count))


@cache
@st.composite
def persistences(draw: st.DrawFn, protocol: str) -> SessionPersistence | None:
    found = [SessionPersistence(type="SOURCE_IP")]
    if protocol in ("UDP", "SCTP"):
        mask = draw(_mask)
        found += [
            SessionPersistence(type="SOURCE_IP", persistence_timeout=draw(_seconds), persistence_granularity=mask)
        ]
    if protocol == "HTTP":
        found += [
            SessionPersistence(type="HTTP_COOKIE"),
            SessionPersistence(type="HTTP_COOKIE", cookie_name="c"),
            SessionPersistence(type="APP_COOKIE", cookie_name=draw(_cookie)),
        ]
    chosen = draw(_number_below(len(found)))
    return None if chosen is None else found[chosen]


_pool_protocol = st.sampled_from(_POOL_PROTOCOLS)
_places = st.lists(st.integers(1, 6), unique=True, max_size=5)
_algorithm = st.sampled_from(get_args(LbAlgorithm))


@cache
def _monitor_or_none(number: int, protocol: str) -> st.SearchStrategy[Any]:
    return st.none() | monitors(number, protocol)


@cache
@st.composite
def pools(draw: st.DrawFn, number: int) -> Any:
    protocol = draw(_pool_protocol)
    places = draw(_places)
    return pool(
        number,
        protocol=protocol,
        members=tuple(draw(members(number, place)) for place in places),
        lb_algorithm=draw(_algorithm),
        admin_state_up=draw(_switch),
        session_persistence=draw(persistences(protocol)),
        monitor=draw(_monitor_or_none(number, protocol)),
    )


def _behind(found: Any) -> tuple[str, ...]:
    """Protocols of the listeners that may send to a pool."""
    if found is None:
        return tuple(protocol for protocol in CAPABILITIES.protocol_pairs if protocol != "TERMINATED_HTTPS")
    wanted = found.session_persistence
    sticky = CAPABILITIES.session_persistence[wanted.type] if wanted else tuple(CAPABILITIES.protocol_pairs)
    return tuple(
        protocol
        for protocol, names in CAPABILITIES.protocol_pairs.items()
        if found.protocol in names and protocol in sticky and protocol != "TERMINATED_HTTPS"
    )


_up_to_three = st.integers(0, 3)
_rules = st.lists(st.sampled_from(_RULES), min_size=1, max_size=3)
_redirect_code = st.sampled_from([None, 301, 308])


@cache
@st.composite
def l7policies(draw: st.DrawFn, number: str, pool_id: str | None) -> tuple[ServiceL7Policy, ...]:
    """Policies of one listener, with any rules that are possible; ``pool_id``: of a pool that they may send to."""
    actions = ("REJECT", "REDIRECT_TO_URL", "REDIRECT_PREFIX", *(("REDIRECT_TO_POOL",) if pool_id else ()))
    policies = []
    for place in range(1, draw(_up_to_three) + 1):
        action = draw(_one_of(actions))
        redirects = action in ("REDIRECT_TO_URL", "REDIRECT_PREFIX")
        rules = draw(_rules)
        policies.append(
            policy(
                place,
                *(replace(one, id=f"rule-{number}-{place}-{each}") for each, one in enumerate(rules)),
                id=f"policy-{number}-{place}",
                action=action,
                admin_state_up=draw(_switch),
                redirect_pool_id=pool_id if action == "REDIRECT_TO_POOL" else None,
                redirect_url="https://new.test/%20x?a=b" if action == "REDIRECT_TO_URL" else None,
                redirect_prefix="https://new.test/p" if action == "REDIRECT_PREFIX" else None,
                redirect_http_code=draw(_redirect_code) if redirects else None,
            )
        )
    return tuple(policies)


_headers = st.lists(st.sampled_from(["X-Forwarded-For", "X-Forwarded-Port", "X-Forwarded-Proto"]), unique=True)
_connection_limit = st.sampled_from([-1, 0, 5])
_cidrs = st.sampled_from([(), (), ("10.0.0.0/8",), ("192.0.2.1/32", "2001:db8::/32")])


@cache
@st.composite
def listeners(draw: st.DrawFn, number: int, place: int, pool_id: str | None, protocols: tuple[str, ...]) -> Any:
    """``protocols``: one of which it has."""
    protocol = draw(_one_of(protocols))
    headers = draw(_headers)
    return listener(
        number * 10 + place,
        protocol=protocol,
        protocol_port=80 + place,
        default_pool_id=pool_id,
        connection_limit=draw(_connection_limit),
        admin_state_up=draw(_switch),
        allowed_cidrs=draw(_cidrs),
        timeout_client_data=draw(_milliseconds),
        timeout_member_data=draw(_milliseconds),
        timeout_member_connect=draw(_milliseconds) if protocol != "SCTP" else 5_000,
        insert_headers=dict.fromkeys(headers, "true") if protocol == "HTTP" else {},
        l7policies=draw(l7policies(f"{number}-{place}", pool_id)) if protocol == "HTTP" else (),
    )


_authentication = st.sampled_from(["NONE", "OPTIONAL", "MANDATORY"])
_tls_headers = st.lists(st.sampled_from(["X-Forwarded-For", "X-Forwarded-Proto"]), unique=True)
_default_reference = st.sampled_from(["ref-a", "ref-b"])
_more_references = st.lists(st.sampled_from(["ref-b", "ref-c"]), unique=True)
_alpn_protocols = st.sampled_from([(), ("http/1.1",), ("h2", "http/1.1")])
_tls_versions = st.sampled_from([("TLSv1.2",), ("TLSv1.2", "TLSv1.3")])
_hsts_age = st.sampled_from([None, 300])


@cache
@st.composite
def tls_listeners(draw: st.DrawFn, number: int, pool_id: str) -> Any:
    """One where TLS ends."""
    authentication = draw(_authentication)
    asks = authentication != "NONE"
    headers = draw(_tls_headers)
    return tls_listener(
        number * 10 + 9,
        default_pool_id=pool_id,
        default_tls_container_ref=draw(_default_reference),
        sni_container_refs=tuple(draw(_more_references)),
        client_authentication=authentication,
        client_ca_tls_container_ref="ref-ca" if asks else None,
        client_crl_container_ref="ref-crl" if asks and draw(_switch) else None,
        alpn_protocols=draw(_alpn_protocols),
        tls_versions=draw(_tls_versions),
        insert_headers=dict.fromkeys([*headers, *(["X-SSL-Client-DN"] if asks else [])], "true"),
        hsts_max_age=draw(_hsts_age),
        l7policies=draw(l7policies(f"{number}-9", pool_id)),
    )


@cache
def more_addresses(number: int) -> st.SearchStrategy[tuple[Vip, ...]]:
    """Additional VIPs of a load balancer, of IPv4."""
    texts = [f"10.7.{number}.{place}" for place in (1, 2, 3)]
    vips = [Vip(address=text, subnet_id="s", network_id="n", port_id="p") for text in texts]
    return st.lists(st.sampled_from(vips), unique_by=lambda vip: vip.address, max_size=2).map(tuple)


def in_network(definition: ServiceDefinition, route_domain: int = 7) -> ServiceDefinition:
    """The same with its VIPs in a network of its project, in a route domain."""
    subnet = ServiceSubnet(id=definition.vip.subnet_id, cidr="10.1.0.0/16", gateway_ip=None, addresses=())
    network = ServiceNetwork(
        id=definition.vip.network_id,
        project_id=definition.project_id,
        network_type=NetworkType.VLAN,
        common=False,
        route_domain=route_domain,
        physical_network="physnet",
        segmentation_id=101,
        subnets=(subnet,),
    )
    return replace(definition, networks=(network,))


_one_in_six = st.integers(0, 5)


@cache
def _pool_or_none(number: int) -> st.SearchStrategy[Any]:
    return st.none() | pools(number)


@cache
@st.composite
def services(draw: st.DrawFn, number: int) -> ServiceDefinition:
    if draw(_one_in_six) == 0:
        return gone(number)
    found = draw(_pool_or_none(number))
    pool_id, protocols = found.id if found else None, _behind(found)
    return service(
        number,
        admin_state_up=draw(_switch),
        additional_vips=draw(more_addresses(number)),
        pools=(found,) if found else (),
        listeners=tuple(draw(listeners(number, place, pool_id, protocols)) for place in range(draw(_up_to_three))),
    )


@cache
@st.composite
def tls_services(draw: st.DrawFn, number: int) -> ServiceDefinition:
    """With a listener where TLS ends, and members that may be spoken to with TLS."""
    given = draw(services(number))
    if given.deleted:
        return given
    encrypted = draw(_switch)
    found = pool(
        number,
        protocol="HTTP",
        tls_enabled=encrypted,
        tls_container_ref="ref-c" if encrypted and draw(_switch) else None,
        ca_tls_container_ref="ref-ca" if encrypted and draw(_switch) else None,
    )
    plain = tuple(replace(one, default_pool_id=None, l7policies=()) for one in given.listeners)
    ending = draw(tls_listeners(number, found.id))
    return referring(replace(given, pools=(found,), listeners=(*plain, ending)), CONTENTS)


CONTENTS = {
    **{f"ref-{letter}": certificate(f"{letter}.example", chain=letter != "b") for letter in "abc"},
    "ref-ca": authority(),
    "ref-crl": revocation_list(),
}
"""What references name."""

tenants = st.tuples(*(services(number) for number in (1, 2, 3)))
tls_tenants = st.tuples(tls_services(1), services(2), tls_services(3))
