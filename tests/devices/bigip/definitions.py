"""Random service definitions with every attribute that a BIG-IP can have, except TLS and L7."""

from typing import Any, get_args

from hypothesis import strategies as st

from evenkeel.core.model import LbAlgorithm, SessionPersistence, Vip
from evenkeel.core.service import ServiceDefinition
from evenkeel.devices.bigip.capabilities import CAPABILITIES, PROXY_PROTOCOLS
from tests.devices.services import gone, listener, member, monitor, pool, service

_text = st.text(alphabet='/ab%\\\r\n"{} \0é', max_size=10)
_seconds = st.sampled_from([None, 0, 1, 86_400])
_milliseconds = st.sampled_from([0, 1, 5_000, 50_000, 70_000, 31_536_000_000])
_POOL_PROTOCOLS = tuple(sorted({name for names in CAPABILITIES.protocol_pairs.values() for name in names}))
_MONITORS = {
    "UDP": ("UDP-CONNECT", "TCP", "HTTP"),
    "SCTP": ("UDP-CONNECT", "TCP", "HTTP"),
    **dict.fromkeys(PROXY_PROTOCOLS, ("HTTP", "TCP", "TLS-HELLO", "PING")),
}
_ANY_MONITOR = ("HTTP", "HTTPS", "TCP", "TLS-HELLO", "PING")


@st.composite
def monitors(draw: st.DrawFn, number: int, protocol: str) -> Any:
    kind = draw(st.sampled_from(_MONITORS.get(protocol, _ANY_MONITOR)))
    return monitor(
        number,
        id=f"monitor-{number}-{kind}",
        type=kind,
        delay=draw(st.integers(1, 60)),
        url_path="/" + draw(_text),
        expected_codes=draw(st.sampled_from([None, "200", "200-204", "200,404"])),
        admin_state_up=draw(st.booleans()),
    )


@st.composite
def members(draw: st.DrawFn, number: int, place: int) -> Any:
    return member(
        draw(st.integers(1, 4)),
        place,
        id=f"member-{number}-{place}",
        address=draw(st.sampled_from([f"10.2.0.{place}", f"2001:db8::{place}"])),
        weight=draw(st.sampled_from([0, 1, 1, 1, 7, 256])),
        backup=draw(st.booleans()),
        admin_state_up=draw(st.booleans()),
        monitor_address=draw(st.sampled_from([None, None, "10.3.0.1", "2001:db8::3:1"])),
        monitor_port=draw(st.sampled_from([None, None, 81, 9000])),
    )


@st.composite
def persistences(draw: st.DrawFn, protocol: str) -> SessionPersistence | None:
    found = [SessionPersistence(type="SOURCE_IP")]
    if protocol in ("UDP", "SCTP"):
        mask = draw(st.sampled_from([None, "255.255.255.0", "255.255.255.255"]))
        found += [
            SessionPersistence(type="SOURCE_IP", persistence_timeout=draw(_seconds), persistence_granularity=mask)
        ]
    if protocol == "HTTP":
        found += [
            SessionPersistence(type="HTTP_COOKIE"),
            SessionPersistence(type="HTTP_COOKIE", cookie_name="c"),
            SessionPersistence(type="APP_COOKIE", cookie_name=draw(st.sampled_from(["JSESSIONID", "$a'"]))),
        ]
    return draw(st.none() | st.sampled_from(found))


@st.composite
def pools(draw: st.DrawFn, number: int) -> Any:
    protocol = draw(st.sampled_from(_POOL_PROTOCOLS))
    places = draw(st.lists(st.integers(1, 6), unique=True, max_size=5))
    return pool(
        number,
        protocol=protocol,
        members=tuple(draw(members(number, place)) for place in places),
        lb_algorithm=draw(st.sampled_from(get_args(LbAlgorithm))),
        admin_state_up=draw(st.booleans()),
        session_persistence=draw(persistences(protocol)),
        monitor=draw(st.none() | monitors(number, protocol)),
    )


def _behind(found: Any) -> list[str]:
    """Protocols of the listeners that may send to a pool."""
    if found is None:
        return [protocol for protocol in CAPABILITIES.protocol_pairs if protocol != "TERMINATED_HTTPS"]
    wanted = found.session_persistence
    sticky = CAPABILITIES.session_persistence[wanted.type] if wanted else tuple(CAPABILITIES.protocol_pairs)
    return [
        protocol
        for protocol, names in CAPABILITIES.protocol_pairs.items()
        if found.protocol in names and protocol in sticky and protocol != "TERMINATED_HTTPS"
    ]


@st.composite
def listeners(draw: st.DrawFn, number: int, place: int, found: Any) -> Any:
    protocol = draw(st.sampled_from(_behind(found)))
    headers = draw(st.lists(st.sampled_from(["X-Forwarded-For", "X-Forwarded-Port", "X-Forwarded-Proto"]), unique=True))
    return listener(
        number * 10 + place,
        protocol=protocol,
        protocol_port=80 + place,
        default_pool_id=found.id if found else None,
        connection_limit=draw(st.sampled_from([-1, 0, 5])),
        admin_state_up=draw(st.booleans()),
        allowed_cidrs=draw(st.sampled_from([(), (), ("10.0.0.0/8",), ("192.0.2.1/32", "2001:db8::/32")])),
        timeout_client_data=draw(_milliseconds),
        timeout_member_data=draw(_milliseconds),
        timeout_member_connect=draw(_milliseconds) if protocol != "SCTP" else 5_000,
        insert_headers=dict.fromkeys(headers, "true") if protocol == "HTTP" else {},
    )


def more_addresses(number: int) -> st.SearchStrategy[tuple[Vip, ...]]:
    """Additional VIPs of a load balancer, of IPv4."""
    texts = [f"10.7.{number}.{place}" for place in (1, 2, 3)]
    vips = [Vip(address=text, subnet_id="s", network_id="n", port_id="p") for text in texts]
    return st.lists(st.sampled_from(vips), unique_by=lambda vip: vip.address, max_size=2).map(tuple)


@st.composite
def services(draw: st.DrawFn, number: int) -> ServiceDefinition:
    if draw(st.integers(0, 5)) == 0:
        return gone(number)
    found = draw(st.none() | pools(number))
    return service(
        number,
        admin_state_up=draw(st.booleans()),
        additional_vips=draw(more_addresses(number)),
        pools=(found,) if found else (),
        listeners=tuple(draw(listeners(number, place, found)) for place in range(draw(st.integers(0, 3)))),
    )


tenants = st.tuples(*(services(number) for number in (1, 2, 3)))
