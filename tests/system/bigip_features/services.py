"""Listeners, pools, members, monitors and session persistence."""

import asyncio
import re
from typing import Any

from tests.devices.service_behaviour import exchange
from tests.system.bigip_features.actors import Actors, Body, Feature, Scene, all_headers, check, listener, one, pool
from tests.system.bigip_features.matching import ANY
from tests.system.bigip_features.place import SUBNET_IDS
from tests.waiting import eventually

ALL = {"plain-1", "plain-2", "plain-3"}
HTTP_PROFILES = [
    {"name": "http", "context": "all"},
    {"name": "tcp", "context": "all"},
    {"name": "oneconnect", "context": "all"},
]
FASTL4 = [{"name": "fastL4"}]


def plain_pool(actors: Actors, *changes: Body, **of_pool: Any) -> Body:
    return pool(actors.members(*changes), **of_pool)


def simple(protocol: str = "HTTP", **changes: Any) -> Any:
    """A listener of these attributes before three members."""
    return lambda actors: one(listener(plain_pool(actors, protocol=protocol), protocol=protocol, **changes))


def pooled(*members: Body, protocol: str = "HTTP", **changes: Any) -> Any:
    """A pool of these attributes."""
    return lambda actors: one(listener(plain_pool(actors, *members, protocol=protocol, **changes), protocol=protocol))


def virtual(**attributes: Any) -> dict[str, Any]:
    return {"ltm/virtual": {"{web}": attributes}}


async def all_members_answer(scene: Scene) -> None:
    assert set(await scene.bodies(12)) == ALL


async def one_member_answers(scene: Scene) -> None:
    assert len(await scene.bodies(12)) == 1


def members_over_tls(listener_protocol: str, pool_protocol: str) -> Feature:
    """TLS that is passed through."""

    async def works(scene: Scene) -> None:
        answer = await scene.asked_over_tls(port=443)
        assert (answer.status, answer.shown) == (200, "member")

    return Feature(
        lambda actors: one(
            listener(
                pool(actors.members(of=actors.tls), protocol=pool_protocol),
                protocol=listener_protocol,
                protocol_port=443,
            )
        ),
        virtual(profiles=FASTL4),
        works,
    )


def told_by_proxy(listener_protocol: str, version: str) -> Feature:
    async def works(scene: Scene) -> None:
        assert (await scene.ask())[1] in ALL
        heard = scene.actors.heard()
        assert heard.startswith(b"PROXY TCP4 127.0.0.1 " if version == "PROXY" else b"\r\n\r\n\0\r\nQUIT\n"), heard

    return Feature(
        lambda actors: one(listener(plain_pool(actors, protocol=version), protocol=listener_protocol)),
        virtual(rules=[re.compile("rule_")])
        | {"ltm/rule": {"rule_{web}": {"apiAnonymous": re.compile("TCP::respond")}}},
        works,
    )


# -- listeners


async def headers_arrive(scene: Scene) -> None:
    await scene.ask("X-Forwarded-For: 9.9.9.9", "X-Forwarded-Port: 9", "X-Forwarded-Proto: forged")
    heard = scene.actors.heard().decode()
    for line in ("X-Forwarded-Port: 80", "X-Forwarded-Proto: http"):
        assert line in heard
    assert "127.0.0.1" in heard and "forged" not in heard


async def only_allowed(scene: Scene) -> None:
    assert (await scene.ask())[1] == ""


async def one_at_a_time(scene: Scene) -> None:
    _, writer = await asyncio.open_connection(scene.made.address, 80)
    await scene.until(web="DEGRADED")
    assert await scene.ask() == ("", "")  # settled: the limit is what makes it DEGRADED
    writer.transport.abort()
    await scene.until(web="ONLINE")


async def every_address_answers(scene: Scene) -> None:
    for address in (scene.made.address, *scene.made.more):
        assert (await scene.ask(at=address))[1] in ALL
    assert len(scene.made.more) == 1


async def idle_connections_end(scene: Scene) -> None:
    reader, writer = await asyncio.open_connection(scene.made.address, 80)
    writer.write(b"GET /")
    async with asyncio.timeout(60):
        try:
            assert await reader.read() == b""
        except ConnectionError:
            return
        finally:
            writer.close()


async def datagrams_pass(scene: Scene) -> None:
    async def one_answers() -> bool:
        """Always the same, as long as its monitor finds it up."""
        found = {await exchange((scene.made.address, 80)) for _ in range(8)}
        return len(found) == 1 and found <= {"datagrams-1", "datagrams-2"}

    await eventually(one_answers)


async def nobody_is_served(scene: Scene) -> None:
    assert await scene.ask() == ("", "")


async def nothing(scene: Scene) -> None:
    """No client: this host has no SCTP."""


async def operators_rule_acts(scene: Scene) -> None:
    await scene.ask()
    assert b"X-Added: yes" in scene.actors.heard()


LISTENERS: dict[str, Feature] = {
    "HTTP": Feature(
        simple(),
        {
            "ltm/virtual": {
                "{web}": {
                    "destination": re.compile(r"/sys_a/sys_.*:80$"),
                    "ipProtocol": "tcp",
                    "pool": re.compile("^/sys_a/sys_"),
                    "profiles": HTTP_PROFILES,
                    "sourceAddressTranslation": {"type": "automap"},
                    "connectionLimit": 0,
                    "enabled": True,
                }
            },
            "ltm/virtual-address": {"{lb}": {"autoDelete": "false", "address": re.compile(r"^127\.")}},
            "ltm/pool": {
                "{pool}": {
                    "loadBalancingMode": "round-robin",
                    "members": [{"address": "127.0.0.1", "session": "user-enabled", "ratio": 1}] * 3,
                }
            },
        },
        all_members_answer,
    ),
    "TCP": Feature(simple("TCP"), virtual(profiles=FASTL4), all_members_answer),
    "TCP before HTTP": Feature(
        lambda actors: one(listener(plain_pool(actors), protocol="TCP")), virtual(profiles=FASTL4), all_members_answer
    ),
    "TCP before HTTPS": members_over_tls("TCP", "HTTPS"),
    "HTTPS": members_over_tls("HTTPS", "HTTPS"),
    "HTTPS before TCP": members_over_tls("HTTPS", "TCP"),
    "HTTP before PROXY": told_by_proxy("HTTP", "PROXY"),
    "HTTP before PROXYV2": told_by_proxy("HTTP", "PROXYV2"),
    "TCP before PROXY": told_by_proxy("TCP", "PROXY"),
    "TCP before PROXYV2": told_by_proxy("TCP", "PROXYV2"),
    "HTTPS before PROXY": told_by_proxy("HTTPS", "PROXY"),
    "HTTPS before PROXYV2": told_by_proxy("HTTPS", "PROXYV2"),
    "UDP": Feature(
        lambda actors: one(
            listener(
                pool(
                    actors.members(of=actors.datagrams),
                    protocol="UDP",
                    session_persistence={
                        "type": "SOURCE_IP",
                        "persistence_timeout": 90,
                        "persistence_granularity": "255.255.0.0",
                    },
                    healthmonitor=check("UDP-CONNECT", delay=3),
                ),
                protocol="UDP",
            )
        ),
        {
            "ltm/virtual": {"{web}": {"ipProtocol": "udp", "profiles": [{"name": "udp"}]}},
            "ltm/persistence/source-addr": {"source_{pool}": {"timeout": "90", "mask": "255.255.0.0"}},
            "ltm/monitor/udp": {"{check}": {"interval": 3, "timeout": 4}},
        },
        datagrams_pass,
    ),
    "SCTP": Feature(
        lambda actors: one(
            listener(pool(actors.members(), protocol="SCTP", healthmonitor=check("TCP")), protocol="SCTP")
        ),
        virtual(ipProtocol="sctp", profiles=[{"name": "sctp"}]),
        nothing,
    ),
    "insert_headers": Feature(
        simple(insert_headers=all_headers(tls=False)),
        {
            "ltm/profile/http": {"http_{web}": {"insertXforwardedFor": "enabled"}},
            "ltm/rule": {"rule_{web}": {"apiAnonymous": re.compile("X-Forwarded-Port")}},
        },
        headers_arrive,
    ),
    "allowed_cidrs": Feature(
        simple(allowed_cidrs=["10.0.0.0/8", "192.0.2.0/24"]),
        {
            "ltm/data-group/internal": {
                "cidrs_{web}": {"type": "ip", "records": [{"name": "10.0.0.0/8"}, {"name": "192.0.2.0/24"}]}
            }
        },
        only_allowed,
    ),
    "connection_limit": Feature(simple("TCP", connection_limit=1), virtual(connectionLimit=1), one_at_a_time),
    "connection_limit 0": Feature(simple(connection_limit=0), virtual(disabled=True), nobody_is_served),
    "additional_vips": Feature(
        lambda actors: one(listener(plain_pool(actors)), additional_vips=[{"subnet_id": SUBNET_IDS[1]}]),
        virtual(enabled=True),
        every_address_answers,
    ),
    "time-outs": Feature(
        simple("TCP", timeout_client_data=1000, timeout_member_data=2000, timeout_member_connect=3000),
        {"ltm/profile/fastl4": {"fastl4_{web}": {"idleTimeout": "2", "tcpHandshakeTimeout": "3"}}},
        idle_connections_end,
    ),
    "admin_state_up of a listener": Feature(simple(admin_state_up=False), virtual(disabled=True), nobody_is_served),
    "enhanced services": Feature(
        lambda actors: one(listener(plain_pool(actors), tags=["esd:adds"])),
        virtual(rules=["/Common/adds_header"]),
        operators_rule_acts,
    ),
}


# -- pools and members


async def three_to_one(scene: Scene) -> None:
    found = await scene.bodies(40)
    assert found["plain-1"] == 30, found


async def by_weight_or_not(scene: Scene) -> None:
    assert set(await scene.bodies(40)) == ALL


async def only_the_first(scene: Scene) -> None:
    assert set(await scene.bodies(12)) == {"plain-1"}


async def backup_takes_over(scene: Scene) -> None:
    await scene.until(m1="ONLINE", m2="ONLINE", m3="ONLINE")
    await scene.used("plain-1", "plain-2")
    for server in scene.actors.plain[:2]:
        await server.stop()
    await scene.used("plain-3")


async def cookie_keeps_members(scene: Scene) -> None:
    head, first = await scene.ask()
    cookie = next(
        line.split(" ")[1].rstrip(";") for line in head.split("\r\n") if line.lower().startswith("set-cookie: b")
    )
    assert set(await scene.bodies(8, f"Cookie: {cookie}")) == {first}
    assert set(await scene.bodies(12)) == ALL


async def members_cookie_keeps_them(scene: Scene) -> None:
    head, first = await scene.ask()
    assert f"SESSION={first}" in head
    assert set(await scene.bodies(8, f"Cookie: SESSION={first}")) == {first}


def persistent(**persistence: Any) -> Any:
    return pooled(session_persistence=persistence)


POOLS: dict[str, Feature] = {
    "ROUND_ROBIN by weight": Feature(
        pooled({"weight": 3}, {"weight": 1}, {"weight": 0}),
        {
            "ltm/pool": {
                "{pool}": {
                    "loadBalancingMode": "ratio-member",
                    "members": [
                        {"ratio": 3, "session": "user-enabled"},
                        {"ratio": 1, "session": "user-enabled"},
                        {"session": "user-disabled", "state": "unchecked"},
                    ],
                }
            }
        },
        three_to_one,
    ),
    "LEAST_CONNECTIONS": Feature(
        pooled(lb_algorithm="LEAST_CONNECTIONS"),
        {"ltm/pool": {"{pool}": {"loadBalancingMode": "least-connections-member"}}},
        by_weight_or_not,
    ),
    "SOURCE_IP": Feature(
        pooled(lb_algorithm="SOURCE_IP"),
        {"ltm/persistence/source-addr": {"source_{pool}": {"hashAlgorithm": "carp"}}},
        one_member_answers,
    ),
    "SOURCE_IP_PORT": Feature(
        pooled(lb_algorithm="SOURCE_IP_PORT"),
        {"ltm/rule": {"rule_{web}": {"apiAnonymous": re.compile("persist carp")}}},
        by_weight_or_not,
    ),
    "backup": Feature(
        pooled({}, {}, {"backup": True}, healthmonitor=check("TCP")),
        {
            "ltm/pool": {
                "{pool}": {
                    "minActiveMembers": 1,
                    "members": [{"priorityGroup": 10}, {"priorityGroup": 10}, {"priorityGroup": 5}],
                }
            }
        },
        backup_takes_over,
    ),
    "admin_state_up of members": Feature(
        pooled({}, {"admin_state_up": False}, {"admin_state_up": False}),
        {
            "ltm/pool": {
                "{pool}": {"members": [{"state": "user-down"}, {"state": "user-down"}, {"session": "user-enabled"}]}
            }
        },
        only_the_first,
    ),
    "admin_state_up of a pool": Feature(
        pooled(admin_state_up=False),
        {"ltm/pool": {"{pool}": {"members": [{"state": "user-down"}] * 3}}},
        nobody_is_served,
    ),
    "persistence SOURCE_IP": Feature(
        persistent(type="SOURCE_IP"),
        virtual(persist=[{"name": "source_addr", "partition": "Common", "tmDefault": "yes"}]),
        one_member_answers,
    ),
    "persistence HTTP_COOKIE": Feature(
        persistent(type="HTTP_COOKIE"),
        virtual(persist=[{"name": "cookie", "partition": "Common"}]),
        cookie_keeps_members,
    ),
    "persistence APP_COOKIE": Feature(
        persistent(type="APP_COOKIE", cookie_name="SESSION"),
        {
            "ltm/persistence/universal": {"appcookie_{pool}": {"rule": re.compile("appcookie-rule_")}},
            "ltm/data-group/internal": {"appcookie-name_{pool}": {"records": [{"name": ANY, "data": "SESSION"}]}},
        },
        members_cookie_keeps_them,
    ),
}


# -- monitors


def monitored(type_: str, kind: str, *, tls: bool = False, shows: Body | None = None, **changes: Any) -> Feature:
    """Two members that answer, and one where nobody does."""
    absent = {"name": "absent", "address": "127.0.0.1", "protocol_port": 1}

    def body(actors: Actors) -> Body:
        alive = actors.members(of=actors.tls if tls else actors.plain[:2])
        protocol = "HTTPS" if tls else "HTTP"
        made = pool([*alive, absent], protocol=protocol, healthmonitor=check(type_, **changes))
        return one(listener(made, protocol=protocol, protocol_port=443 if tls else 80))

    async def works(scene: Scene) -> None:
        await scene.until(m1="ONLINE", m2="ONLINE", absent="ERROR")
        if tls:
            await eventually(lambda: are_served_over_tls(scene))
        else:
            await scene.used("plain-1", "plain-2")

    times = {"interval": 2, "timeout": 3, "timeUntilUp": 0}
    return Feature(body, {f"ltm/monitor/{kind}": {"{check}": {**times, **(shows or {})}}}, works)


async def are_served_over_tls(scene: Scene) -> bool:
    """All of some; a member that stood still for a moment is down until the next look."""
    return all([(await scene.asked_over_tls(port=443)).status == 200 for _ in range(4)])


async def expected_code_never_comes(scene: Scene) -> None:
    await scene.until(m1="ERROR", m2="ERROR", m3="ERROR", pool="ERROR")


async def checked_elsewhere(scene: Scene) -> None:
    await scene.until(m1="ONLINE", m2="ONLINE", m3="ERROR")
    await scene.used("plain-1", "plain-2")


def elsewhere(actors: Actors) -> Body:
    own = {"monitor_address": "127.0.0.1", "monitor_port": actors.plain[0].port}
    made = plain_pool(actors, own, {}, {"monitor_port": 1}, healthmonitor=check())
    return one(listener(made))


async def pinged(scene: Scene) -> None:
    await scene.until(m1="ONLINE", m2="ONLINE", m3="ONLINE")
    await scene.used(*ALL)


MONITORS: dict[str, Feature] = {
    "monitor HTTP": monitored(
        "HTTP",
        "http",
        url_path="/check",
        expected_codes="200-204",
        http_method="HEAD",
        http_version=1.1,
        domain_name="www.example.org",
        shows={
            "send": re.compile(r"^HEAD /check HTTP/1\.1\\r\\nHost: ?www\.example\.org"),
            "recv": re.compile("20"),
        },
    ),
    "monitor HTTP that fails": Feature(
        pooled(healthmonitor=check(url_path="/check", expected_codes="404")),
        {"ltm/monitor/http": {"{check}": {"recv": re.compile("404")}}},
        expected_code_never_comes,
    ),
    "monitor HTTPS": monitored("HTTPS", "https", tls=True, url_path="/check"),
    "monitor TCP": monitored("TCP", "tcp"),
    "monitor TLS-HELLO": monitored("TLS-HELLO", "tcp", tls=True, shows={"send": re.compile(".{50}")}),
    "monitor PING": Feature(
        pooled(healthmonitor=check("PING", delay=5, timeout=4, max_retries=3, max_retries_down=2)),
        {"ltm/monitor/gateway-icmp": {"{check}": {"interval": 5, "timeout": 14, "timeUntilUp": 10}}},
        pinged,
    ),
    "monitor_address and monitor_port": Feature(
        elsewhere,
        {"ltm/pool": {"{pool}": {"members": [{"monitor": re.compile("monitor-")}] * 2 + [{"monitor": ANY}]}}},
        checked_elsewhere,
    ),
}
FEATURES = LISTENERS | POOLS | MONITORS
