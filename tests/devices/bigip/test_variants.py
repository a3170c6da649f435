"""Every feature on a device: what it shows afterwards counts as equal to what was asked for."""

import pytest

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.resources.model import SessionPersistence, Vip
from tests.devices.bigip.rig import BigIpRig
from tests.devices.services import batch, gone, listener, member, monitor, pool, service

VARIANTS: dict[str, ServiceDefinition] = {
    "nothing but an address": service(listeners=(), pools=()),
    "listener without pool": service(listeners=(listener(default_pool_id=None),), pools=()),
    "usual": service(),
    "ipv6": service(
        vip=Vip(address="2001:db8::10", subnet_id="s", network_id="n", port_id="p"),
        pools=(pool(members=(member(address="2001:db8:1::5"), member(place=2))),),
    ),
    "more addresses": service(
        additional_vips=tuple(
            Vip(address=text, subnet_id="s", network_id="n", port_id="p") for text in ("10.1.9.1", "2001:db8::9:1")
        ),
        listeners=(listener(), listener(2, protocol="TCP", protocol_port=81, connection_limit=0)),
    ),
    "tcp": service(
        listeners=(listener(protocol="TCP", timeout_client_data=90_000), listener(2, protocol="TCP", protocol_port=81)),
        pools=(pool(protocol="TCP", monitor=monitor(id="tcp", type="TCP")), pool(2, protocol="TCP")),
    ),
    "udp": service(
        listeners=(listener(protocol="UDP", allowed_cidrs=("10.0.0.0/8", "2001:db8::/32")),),
        pools=(
            pool(
                protocol="UDP",
                monitor=monitor(id="udp", type="UDP-CONNECT"),
                session_persistence=SessionPersistence(
                    type="SOURCE_IP", persistence_timeout=60, persistence_granularity="255.255.255.0"
                ),
            ),
        ),
    ),
    "sctp": service(
        listeners=(listener(protocol="SCTP", timeout_client_data=0),),
        pools=(pool(protocol="SCTP", monitor=monitor(id="tcp", type="TCP"), lb_algorithm="SOURCE_IP_PORT"),),
    ),
    "proxy": service(
        listeners=(listener(), listener(2, protocol="TCP", protocol_port=81)),
        pools=(
            pool(protocol="PROXY"),
            pool(2, protocol="PROXYV2", monitor=monitor(2, type="TLS-HELLO"), members=(member(place=1),)),
        ),
    ),
    "cookie of the members": service(
        pools=(
            pool(
                lb_algorithm="SOURCE_IP",
                session_persistence=SessionPersistence(type="APP_COOKIE", cookie_name="$JSESSION'ID"),
            ),
        )
    ),
    "members checked elsewhere": service(
        pools=(
            pool(
                members=(
                    member(place=1, monitor_port=9000),
                    member(place=2, monitor_port=9000),
                    member(place=3, monitor_address="2001:db8::9"),
                    member(place=4, monitor_address="10.3.0.1", monitor_port=81),
                    member(place=5),
                )
            ),
        )
    ),
    "by source": service(
        listeners=(listener(timeout_member_connect=1_500), listener(2, protocol="TCP", protocol_port=81)),
        pools=(pool(lb_algorithm="SOURCE_IP_PORT"), pool(2, lb_algorithm="SOURCE_IP", members=(member(weight=7),))),
    ),
    "https": service(
        listeners=(listener(protocol="HTTPS", connection_limit=100),),
        pools=(
            pool(
                protocol="HTTPS",
                monitor=monitor(id="ping", type="PING"),
                session_persistence=SessionPersistence(type="SOURCE_IP"),
            ),
        ),
    ),
    "headers, times, cookie": service(
        listeners=(
            listener(
                insert_headers={"X-Forwarded-For": "true", "X-Forwarded-Proto": "true"}, timeout_member_data=120_000
            ),
        ),
        pools=(pool(session_persistence=SessionPersistence(type="HTTP_COOKIE", cookie_name="stick")),),
    ),
    "built-in cookie": service(pools=(pool(session_persistence=SessionPersistence(type="HTTP_COOKIE")),)),
    "weights and backups": service(
        pools=(
            pool(
                lb_algorithm="LEAST_CONNECTIONS",
                members=(
                    member(place=1, weight=0),
                    member(place=2, weight=9),
                    member(place=3, backup=True),
                    member(place=4, admin_state_up=False),
                    member(place=4, id="same-address", protocol_port=81),
                ),
            ),
        )
    ),
    "source address": service(pools=(pool(lb_algorithm="SOURCE_IP", monitor=None),)),
    "down": service(admin_state_up=False),
    "parts down": service(
        listeners=(listener(admin_state_up=False),), pools=(pool(monitor=monitor(admin_state_up=False)),)
    ),
    "pool down": service(pools=(pool(admin_state_up=False),)),
    "monitor of many words": service(
        pools=(
            pool(
                monitor=monitor(
                    http_method="HEAD",
                    url_path='/a b?c="{d}\\r\\nX: y"<e>%20é',
                    http_version=1.1,
                    domain_name="web.example",
                    expected_codes="200-299,404",
                )
            ),
        )
    ),
}


@pytest.mark.parametrize("name", VARIANTS)
async def test_second_pass_over_a_variant_writes_nothing(rig: BigIpRig, name: str) -> None:
    made = await rig.owner().apply(batch(VARIANTS[name], complete=True))
    assert not made.outcomes[0].error
    assert (await rig.owner().apply(batch(VARIANTS[name], complete=True))).writes == 0


async def test_every_variant_can_follow_every_other_and_leaves_nothing_behind(rig: BigIpRig) -> None:
    agent = rig.owner()
    names = list(VARIANTS)
    looks: dict[str, object] = {}
    for name in names:
        await agent.apply(batch(VARIANTS[name], complete=True))
        looks[name] = await rig.content()
        assert not (await agent.apply(batch(gone()))).outcomes[0].error
        assert not await rig.content()
    for step in (1, 3, 5):  # each time other neighbours
        for place in range(len(names)):
            name = names[place * step % len(names)]
            # Immutable on an address: the store never changes it, so neither does this walk.
            if name == "ipv6":
                continue
            outcome = await agent.apply(batch(VARIANTS[name]))
            assert not outcome.outcomes[0].error, name
            assert (await rig.owner().apply(batch(VARIANTS[name], complete=True))).writes == 0
            assert await rig.content() == looks[name], name


async def test_another_address_means_another_virtual_address(rig: BigIpRig) -> None:
    agent = rig.owner()
    await agent.apply(batch(service()))
    moved = service(vip=Vip(address="10.9.9.7", subnet_id="s", network_id="n", port_id="p"))
    assert not (await agent.apply(batch(moved))).outcomes[0].error
    addresses = await rig.hands.items("ltm/virtual-address")
    assert [one["address"] for one in addresses.values()] == ["10.9.9.7"]


async def test_a_port_can_pass_from_one_listener_to_another(rig: BigIpRig) -> None:
    agent = rig.owner()
    await agent.apply(batch(service(listeners=(listener(1), listener(2, protocol_port=81)))))
    swapped = service(listeners=(listener(1, protocol_port=81), listener(3, protocol_port=80)))
    assert not (await agent.apply(batch(swapped))).outcomes[0].error
