"""What a provider's device type cannot do is refused at the request by name; what it can do is stored and shown."""

from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace
from sqlalchemy import select

from evenkeel.api.app import create_app
from evenkeel.api.identity.caller import Caller
from evenkeel.cmd.controllers.capabilities import load_capabilities
from evenkeel.core.control.environments import Environment
from evenkeel.core.devices.capabilities import ALL_CAPABILITIES, Capabilities
from evenkeel.core.resources.model import Subnet
from evenkeel.network.builtin import BuiltinNetwork
from evenkeel.store.records.schema import metadata
from evenkeel.store.sql_store import SqlStore
from tests.api import bodies
from tests.api.client import Client, Sink
from tests.store.conftest import statements_of

SIX = Subnet(
    id="6b0c8b3e-3b3d-4c53-9f2c-0d6a1f7f0a06",
    network_id="six",
    name="six",
    cidr="2001:db8:1::/64",
    allocation_start="2001:db8:1::10",
    allocation_end="2001:db8:1::ffff",
)
PROVIDERS = {"big": "bigip", "few": "limited", "hap": "haproxy", "odd": "of-somebody-else"}
LIMITED = Capabilities(
    protocol_pairs={"HTTP": ("HTTP",), "TCP": ("HTTP", "HTTPS", "TCP"), "HTTPS": ("HTTPS", "TCP")},
    lb_algorithms=("ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP"),
    session_persistence={"SOURCE_IP": ("HTTP", "TCP", "HTTPS"), "HTTP_COOKIE": ("HTTP",)},
    health_monitor_types=("HTTP", "HTTPS", "TCP", "PING"),
    options=("listener.connection_limit", "listener.timeout_client_data", "listener.timeout_member_data"),
    refused_values={"listener.connection_limit": (0,)},
    l7policy_actions=(),
    l7rule_types=(),
)
"""Of a device type that can do little."""


@pytest.fixture
async def api(store: SqlStore, sink: Sink) -> AsyncIterator[Client]:
    """An API with an environment of every device type, and one of a type without a table; ``dev`` is of ``noop``."""
    for name, driver in PROVIDERS.items():
        await store.operators.add_environment(Environment(name=name, device_driver=driver))
    await store.operators.add_subnet(SIX)
    tables = {**load_capabilities(), "limited": LIMITED}
    assert tables.keys() >= {"bigip", "haproxy", "noop"}
    app = create_app(
        store=store, network=BuiltinNetwork(store.operators), driver=sink, default_provider="dev", capabilities=tables
    )
    async with Client.of(app) as client:
        yield client


class Made(NamedTuple):
    """What is there of one provider."""

    root: str
    listener: str
    pool: str
    member: str
    monitor: str


async def made(api: Client, provider: str) -> Made:
    shown = (await api.post("/loadbalancers", bodies.populated(provider=provider)))["loadbalancer"]
    pool = shown["pools"][0]
    listener = shown["listeners"][0]["id"]
    return Made(shown["id"], listener, pool["id"], pool["members"][0]["id"], pool["healthmonitor"]["id"])


class Case(NamedTuple):
    """An attribute of a kind of object with the value asked for and the one shown."""

    kind: str
    attributes: dict[str, Any]
    words: str
    shown: dict[str, Any] | None = None
    changeable: bool = True


COOKIE = {"type": "APP_COOKIE", "cookie_name": "JSESSIONID"}

CASES = {
    "allowed_cidrs": Case(
        "listener",
        {"allowed_cidrs": ["10.1.2.3/8", "192.0.2.7", "10.0.0.0/8"]},
        "allowed_cidrs",
        {"allowed_cidrs": ["10.0.0.0/8", "192.0.2.7/32"]},
    ),
    "timeout_member_connect": Case("listener", {"timeout_member_connect": 0}, "timeout_member_connect 0"),
    "timeout_tcp_inspect": Case("listener", {"timeout_tcp_inspect": 2_073_600_000}, "timeout_tcp_inspect 20736"),
    "SOURCE_IP_PORT": Case("pool", {"lb_algorithm": "SOURCE_IP_PORT"}, "lb_algorithm SOURCE_IP_PORT"),
    "PROXY": Case("pool", {"protocol": "PROXY"}, "protocol PROXY", changeable=False),
    "PROXYV2": Case("pool", {"protocol": "PROXYV2"}, "protocol PROXYV2", changeable=False),
    "APP_COOKIE": Case(
        "pool",
        {"session_persistence": COOKIE},
        "APP_COOKIE",
        {"session_persistence": COOKIE | {"persistence_timeout": None, "persistence_granularity": None}},
    ),
    "monitor_address": Case(
        "member",
        {"monitor_address": "2001:DB8::0:9"},
        "monitor_address 2001:db8::9",
        {"monitor_address": "2001:DB8::0:9"},
    ),
    "monitor_port": Case("member", {"monitor_port": 8081}, "monitor_port 8081"),
    "TLS-HELLO": Case("healthmonitor", {"type": "TLS-HELLO"}, "type TLS-HELLO", {"url_path": None}, changeable=False),
}


def creating(case: Case, there: Made) -> tuple[str, dict[str, Any]]:
    """Path and body that make such an object."""
    usual: dict[str, tuple[str, dict[str, Any]]] = {
        "listener": ("/listeners", {"loadbalancer_id": there.root, "protocol": "HTTP", "protocol_port": 81}),
        "pool": ("/pools", {"loadbalancer_id": there.root, "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN"}),
        "member": (f"/pools/{there.pool}/members", {"address": "10.20.0.77", "protocol_port": 80}),
        "healthmonitor": ("/healthmonitors", {**bodies.MONITOR, "pool_id": there.pool}),
    }
    path, body = usual[case.kind]
    return path, {case.kind: body | case.attributes}


def changing(case: Case, there: Made) -> tuple[str, dict[str, Any]]:
    """Path and body that change what is there."""
    path = {
        "listener": f"/listeners/{there.listener}",
        "pool": f"/pools/{there.pool}",
        "member": f"/pools/{there.pool}/members/{there.member}",
        "healthmonitor": f"/healthmonitors/{there.monitor}",
    }[case.kind]
    return path, {case.kind: case.attributes}


def populated(case: Case, provider: str) -> dict[str, Any]:
    """The body of a fully populated create with such an object in it."""
    body = bodies.populated(provider=provider)
    listener = body["loadbalancer"]["listeners"][0]
    pool = listener["default_pool"] = dict(listener["default_pool"])
    if case.kind == "member":
        pool["members"] = [bodies.MEMBERS[0] | case.attributes]
    elif case.kind == "healthmonitor":
        pool["healthmonitor"] = bodies.MONITOR | case.attributes
    else:
        (listener if case.kind == "listener" else pool).update(case.attributes)
    return body


async def rows(store: SqlStore) -> dict[str, list[Any]]:
    return await store.database.read(
        lambda connection: {
            table.name: sorted(map(repr, connection.execute(select(table)).all())) for table in metadata.sorted_tables
        }
    )


def holds(shown: dict[str, Any], case: Case) -> bool:
    return all(shown[name] == value for name, value in (case.shown or case.attributes).items())


@pytest.mark.parametrize("provider", ["dev", "hap", "odd"])
@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
async def test_supported_attribute_is_stored_and_shown(api: Client, provider: str, case: Case) -> None:
    there = await made(api, provider)
    if case.kind == "healthmonitor":
        await api.delete(f"/healthmonitors/{there.monitor}")
    path, body = creating(case, there)
    created = (await api.post(path, body))[case.kind]
    assert holds(created, case)
    assert (await api.get(f"{path}/{created['id']}"))[case.kind] == created
    if case.changeable:
        path, body = changing(case, there)
        changed = (await api.put(path, body))[case.kind]
        assert holds(changed, case) and holds((await api.get(path))[case.kind], case)
        if case.kind != "pool" or "lb_algorithm" not in case.attributes:
            # null: back to the default
            reset = (await api.put(path, {case.kind: dict.fromkeys(case.attributes)}))[case.kind]
            assert reset[next(iter(case.attributes))] in (None, 5000, 0)
    await api.post("/loadbalancers", populated(case, provider))


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
async def test_unsupported_attribute_is_refused_by_name_and_changes_no_row(
    api: Client, store: SqlStore, case: Case
) -> None:
    there = await made(api, "few")
    before = await rows(store)
    asked = [("POST", *creating(case, there)), ("POST", "/loadbalancers", populated(case, "few"))]
    if case.changeable:
        asked.append(("PUT", *changing(case, there)))
    if case.kind == "member":
        batch = {"members": [{"address": "10.20.0.78", "protocol_port": 80, **case.attributes}]}
        asked.append(("PUT", f"/pools/{there.pool}/members", batch))
        asked.append(("POST", "/pools", {"pool": {**creating(CASES["PROXY"], there)[1]["pool"], "protocol": "HTTP"}}))
        asked[-1][2]["pool"]["members"] = batch["members"]
    for method, path, body in asked:
        answer = await api.call(method, path, 501, body)
        assert answer["faultstring"].startswith("Provider 'few' does not support a requested option: ")
        assert case.words in answer["faultstring"] and "Allowed: " in answer["faultstring"]
        assert answer["faultcode"] == "Server" and answer["debuginfo"] is None
    assert await rows(store) == before


@pytest.mark.parametrize("attribute", ["timeout_member_connect", "connection_limit", "insert_headers"])
async def test_supported_value_is_accepted(api: Client, attribute: str) -> None:
    there = await made(api, "few")
    value = {"timeout_member_connect": 5000, "connection_limit": 5, "insert_headers": {"X-Forwarded-For": "true"}}
    body = {attribute: value[attribute], "allowed_cidrs": [], "timeout_tcp_inspect": 0}
    await api.put(f"/listeners/{there.listener}", {"listener": body})


HOLES: dict[str, dict[str, Any]] = {
    "connection_limit 0": {"connection_limit": 0},
}


@pytest.mark.parametrize("words", HOLES)
async def test_value_that_a_device_would_refuse_is_refused_at_the_request(api: Client, words: str) -> None:
    there = await made(api, "few")
    case = Case("listener", HOLES[words], words)
    for method, (path, body) in {"POST": creating(case, there), "PUT": changing(case, there)}.items():
        assert words in (await api.call(method, path, 501, body))["faultstring"]
    assert words in (await api.post("/loadbalancers", populated(case, "few"), 501))["faultstring"]


async def test_a_big_ip_reads_cookies_of_tcp_listeners(api: Client) -> None:
    root = (await api.load_balancer(provider="big"))["id"]
    tcp = await api.listener(root, protocol="TCP", protocol_port=81)
    made = await api.pool(root, listener_id=tcp["id"], session_persistence={"type": "HTTP_COOKIE"})
    assert made["session_persistence"]["type"] == "HTTP_COOKIE"


async def test_a_cookie_needs_listeners_of_http_whatever_comes_first(api: Client) -> None:
    root = (await api.load_balancer(provider="hap"))["id"]
    tcp = await api.listener(root, protocol="TCP", protocol_port=81)
    cookie = {"session_persistence": {"type": "HTTP_COOKIE"}}
    words = "HTTP_COOKIE behind a listener of protocol TCP"
    body = {"protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN"}
    answer = await api.post("/pools", {"pool": {"listener_id": tcp["id"], **body, **cookie}}, 501)
    assert words in answer["faultstring"]
    with_cookie = await api.pool(root, **cookie)
    answer = await api.put(f"/listeners/{tcp['id']}", {"listener": {"default_pool_id": with_cookie["id"]}}, 501)
    assert words in answer["faultstring"]
    new = {"loadbalancer_id": root, "protocol": "TCP", "protocol_port": 82, "default_pool_id": with_cookie["id"]}
    assert words in (await api.post("/listeners", {"listener": new}, 501))["faultstring"]
    behind = await api.pool(root, listener_id=tcp["id"])
    assert words in (await api.put(f"/pools/{behind['id']}", {"pool": cookie}, 501))["faultstring"]
    http = await api.listener(root, protocol_port=80, default_pool_id=with_cookie["id"])
    assert http["default_pool_id"] == with_cookie["id"]
    populated_ = bodies.populated(provider="hap")
    listener = populated_["loadbalancer"]["listeners"][0]
    listener["protocol"], listener["default_pool"] = "TCP", listener["default_pool"] | cookie
    assert words in (await api.post("/loadbalancers", populated_, 501))["faultstring"]


async def test_a_shared_monitor_is_refused_in_a_pool_whose_device_cannot_have_it(api: Client) -> None:
    root = (await api.load_balancer(provider="big"))["id"]
    pool = await api.pool(root, protocol="PROXY")
    wanted = {"type": "HTTPS", "delay": 5, "timeout": 3, "max_retries": 3}
    path = "/neutron/v2.0/lb"
    monitor = (await api.post(f"{path}/health_monitors", {"health_monitor": wanted}))["health_monitor"]
    body = {"health_monitor": {"id": monitor["id"]}}
    refused = await api.post(f"{path}/pools/{pool['id']}/health_monitors", body, 501)
    assert "HTTPS in a pool of protocol PROXY" in refused["NeutronError"]["message"]


async def test_haproxy_takes_no_monitor_times_of_nothing(api: Client) -> None:
    there = await made(api, "hap")
    answer = await api.put(f"/healthmonitors/{there.monitor}", {"healthmonitor": {"timeout": 0}}, 501)
    assert "timeout 0" in answer["faultstring"]
    await api.put(f"/healthmonitors/{(await made(api, 'big')).monitor}", {"healthmonitor": {"timeout": 0}})


async def test_haproxy_hosts_take_udp_and_refuse_by_name_what_their_kernel_cannot_do(api: Client) -> None:
    root = (await api.load_balancer(provider="hap"))["id"]
    listener = await api.listener(root, protocol="UDP", protocol_port=53)
    body = {"listener_id": listener["id"], "protocol": "UDP", "lb_algorithm": "LEAST_CONNECTIONS"}
    refused = "lb_algorithm LEAST_CONNECTIONS in a pool of protocol UDP"
    assert refused in (await api.post("/pools", {"pool": body}, 501))["faultstring"]
    pool = await api.pool(root, listener_id=listener["id"], protocol="UDP")
    path = f"/pools/{pool['id']}"
    change = {"pool": {"lb_algorithm": "LEAST_CONNECTIONS"}}
    assert refused in (await api.put(path, change, 501))["faultstring"]
    bound = {"type": "SOURCE_IP", "persistence_timeout": 60}
    await api.put(path, {"pool": {"lb_algorithm": "SOURCE_IP_PORT", "session_persistence": bound}})
    timeout = {"listener": {"timeout_client_data": 7}}
    assert "of protocol UDP" in (await api.put(f"/listeners/{listener['id']}", timeout, 501))["faultstring"]
    times = {"pool_id": pool["id"], "delay": 5, "timeout": 3, "max_retries": 2}
    await api.post("/healthmonitors", {"healthmonitor": times | {"type": "UDP-CONNECT"}})
    sctp = await api.listener(root, protocol="SCTP", protocol_port=53)
    body = {"protocol": "SCTP", "listener_id": sctp["id"]}
    refused = "lb_algorithm LEAST_CONNECTIONS in a pool of protocol SCTP"
    found = await api.post("/pools", {"pool": body | {"lb_algorithm": "LEAST_CONNECTIONS"}}, 501)
    assert refused in found["faultstring"]
    accepted = await api.pool(root, **body)
    await api.post("/healthmonitors", {"healthmonitor": times | {"type": "SCTP", "pool_id": accepted["id"]}})
    # a pool of another protocol may have the algorithm
    tcp = await api.pool(root, protocol="TCP")
    await api.put(f"/pools/{tcp['id']}", change)


async def test_cidrs_are_of_the_vips_family(api: Client) -> None:
    four = await made(api, "dev")
    six = (await api.load_balancer(vip_subnet_id=SIX.id))["id"]
    body = {"loadbalancer_id": six, "protocol": "HTTP", "protocol_port": 80}
    listener = await api.post("/listeners", {"listener": body | {"allowed_cidrs": ["2001:DB8:0::/32"]}})
    assert listener["listener"]["allowed_cidrs"] == ["2001:db8::/32"]
    bad = {"allowed_cidrs": ["10.0.0.0/8"]}
    for path in (f"/listeners/{listener['listener']['id']}",):
        assert "IP version" in (await api.put(path, {"listener": bad}, 400))["faultstring"]
    assert "IP version" in (await api.post("/listeners", {"listener": body | bad}, 400))["faultstring"]
    case = Case("listener", {"allowed_cidrs": ["2001:db8::/32"]}, "IP version")
    assert case.words in (await api.put(*changing(case, four), 400))["faultstring"]
    assert case.words in (await api.post("/loadbalancers", populated(case, "dev"), 400))["faultstring"]
    nested = populated(case, "dev")
    nested["loadbalancer"]["vip_subnet_id"] = SIX.id
    await api.post("/loadbalancers", nested)


SIXTH = {"address": "2001:db8:1::5", "protocol_port": 53}
FOURTH = {"address": "10.20.0.5", "protocol_port": 53}
OTHER_VERSION = "address 2001:db8:1::5 of a member of a UDP pool. Allowed: IPv4, as all VIPs."


async def test_members_of_a_version_that_no_vip_has_are_refused_where_devices_do_not_translate(api: Client) -> None:
    root = (await api.load_balancer(provider="hap"))["id"]
    pool = await api.pool(root, protocol="UDP")
    own = {"protocol": "UDP", "lb_algorithm": "ROUND_ROBIN", "members": [SIXTH]}
    listed = {"loadbalancer_id": root, "protocol": "UDP", "protocol_port": 53, "default_pool": own}
    at = {"subnet_id": SIX.id}
    for path, body in (
        (f"/pools/{pool['id']}/members", {"member": SIXTH}),
        (f"/neutron/v2.0/lbaas/pools/{pool['id']}/members", {"member": SIXTH | at}),
        (f"/neutron/v2.0/lbaas/pools/{pool['id']}/members", {"members": [FOURTH | at, SIXTH | at]}),
        ("/pools", {"pool": own | {"loadbalancer_id": root}}),
        ("/listeners", {"listener": listed}),
        ("/loadbalancers", bodies.load_balancer(provider="hap", pools=[own | {"name": "p"}])),
    ):
        assert OTHER_VERSION in str(await api.post(path, body, 501)), path
    batch = {"members": [FOURTH, SIXTH]}
    assert OTHER_VERSION in (await api.put(f"/pools/{pool['id']}/members", batch, 501))["faultstring"]
    await api.post(f"/pools/{pool['id']}/members", {"member": FOURTH})
    # HAProxy connects to members itself
    await api.member((await api.pool(root, protocol="TCP"))["id"], **SIXTH)


async def test_members_of_both_versions_are_possible_with_vips_of_both_or_devices_that_translate(
    store: SqlStore, api: Client
) -> None:
    four = next(each for each in await store.operators.subnets() if each.id == bodies.SUBNET_ID)
    same_network = replace(
        SIX,
        id="7b0c8b3e-3b3d-4c53-9f2c-0d6a1f7f0a07",
        name="six-too",
        network_id=four.network_id,
        cidr="2001:db8:7::/64",
        allocation_start="2001:db8:7::10",
        allocation_end="2001:db8:7::ffff",
    )
    await store.operators.add_subnet(same_network)
    both = await api.load_balancer(provider="hap", additional_vips=[{"subnet_id": same_network.id}])
    big = await api.load_balancer(provider="big")
    for root in (both, big):
        pool = await api.pool(root["id"], protocol="UDP")
        await api.put(f"/pools/{pool['id']}/members", {"members": [FOURTH, SIXTH]}, 202)


async def test_refusal_names_nothing_of_other_projects(store: SqlStore, sink: Sink, api: Client) -> None:
    class Member:
        async def identify(self, headers: Any, scope: object) -> Caller:
            return Caller(project_id=headers[b"x-project-id"].decode(), roles=("member",))

    there = await made(api, "few")
    app = create_app(
        store=store,
        network=BuiltinNetwork(store.operators),
        driver=sink,
        default_provider="few",
        capabilities={"limited": LIMITED},
        identity=Member(),
    )
    async with Client.of(app) as client:
        path, body = changing(CASES["monitor_port"], there)
        mine, other = {"headers": {"X-Project-Id": "default"}}, {"headers": {"X-Project-Id": "else"}}
        for _ in range(2):
            await client.put(path, body, 403, **other)
            await client.put(path, body, 501, **mine)
        await client.post(*creating(CASES["allowed_cidrs"], there), 403, **other)


async def test_a_table_is_looked_up_once_for_each_object(api: Client, store: SqlStore) -> None:
    there = await made(api, "hap")
    path, body = changing(CASES["monitor_port"], there)

    async def count() -> int:
        with statements_of(store.database) as seen:
            await api.put(path, body)
        return len(seen)

    first, second, third = [await count() for _ in range(3)]
    assert first == second + 1 and second == third
    with statements_of(store.database) as plain:
        await api.put(path, {"member": {"weight": 9}})
    assert len(plain) == second
    with statements_of(store.database) as storing:
        await api.listener(there.root, protocol_port=99, allowed_cidrs=["10.0.0.0/8"])
    assert not storing[0].startswith("SELECT"), "a load balancer that was made here is known"


@pytest.mark.parametrize("provider", ["dev", "big", "few", "hap", "odd"])
async def test_the_table_of_a_provider_is_shown(api: Client, provider: str) -> None:
    driver = {"dev": "noop", **PROVIDERS}[provider]
    shown = (await api.get(f"/v2.0/lbaas/providers/{provider}/capabilities"))["capabilities"]
    assert (shown["provider"], shown["device_driver"]) == (provider, driver)
    table = {**load_capabilities(), "limited": LIMITED}.get(driver, ALL_CAPABILITIES)
    assert shown["lb_algorithms"] == list(table.lb_algorithms) and shown["options"] == list(table.options)
    assert shown["protocol_pairs"] == {name: list(pools) for name, pools in table.protocol_pairs.items()}
    assert ("SOURCE_IP_PORT" in shown["lb_algorithms"]) == (provider != "few")


async def test_the_table_of_no_provider_is_refused_by_name(api: Client) -> None:
    assert "nobody" in (await api.get("/providers/nobody/capabilities", 400))["faultstring"]


OF_NOOP: dict[str, Case] = {
    "TERMINATED_HTTPS": Case(
        "listener",
        {"protocol": "TERMINATED_HTTPS", "default_tls_container_ref": "ref", "protocol_port": 443},
        "protocol TERMINATED_HTTPS",
        changeable=False,
    ),
    "UDP": Case("listener", {"protocol": "UDP", "protocol_port": 53}, "protocol UDP", changeable=False),
    "SCTP": Case("listener", {"protocol": "SCTP"}, "protocol SCTP", changeable=False),
    "PROMETHEUS": Case("listener", {"protocol": "PROMETHEUS"}, "protocol PROMETHEUS", changeable=False),
    "UDP pool": Case("pool", {"protocol": "UDP"}, "protocol UDP", changeable=False),
    "tls_enabled": Case("pool", {"tls_enabled": True}, "tls_enabled True"),
    "ca_tls_container_ref": Case("pool", {"ca_tls_container_ref": "x"}, "ca_tls_container_ref x"),
    "tls_versions": Case("pool", {"tls_versions": ["TLSv1.3"]}, "tls_versions TLSv1.3"),
}


OF_EVERY_DEVICE = {"TERMINATED_HTTPS", "UDP", "SCTP", "UDP pool", "tls_enabled", "ca_tls_container_ref", "tls_versions"}
"""What all of them can do."""
OF_ONE = {("hap", "PROMETHEUS")}
"""What the other one cannot do."""


@pytest.mark.parametrize(
    ("provider", "name"),
    [
        (provider, name)
        for provider in ("big", "hap")
        for name in OF_NOOP
        if name not in OF_EVERY_DEVICE and (provider, name) not in OF_ONE
    ],
)
async def test_attribute_that_noop_alone_supports_is_refused_by_name(
    api: Client, store: SqlStore, provider: str, name: str
) -> None:
    case = OF_NOOP[name]
    there = await made(api, provider)
    before = await rows(store)
    path, body = creating(case, there)
    if "protocol_port" not in body.get("listener", {"protocol_port": 1}):
        body["listener"]["protocol_port"] = 81
    asked = [("POST", path, body)]
    if case.changeable:
        asked.append(("PUT", *changing(case, there)))
    if case.kind == "member":
        asked.append(("PUT", path, {"members": [{"address": "10.20.0.78", "protocol_port": 80, **case.attributes}]}))
    for method, where, wanted in asked:
        answer = await api.call(method, where, 501, wanted)
        assert case.words in answer["faultstring"] and "Allowed: " in answer["faultstring"]
    new = {"loadbalancer_id": there.root, "protocol": "HTTP", "protocol_port": 81}
    if case.kind == "pool" and case.changeable:
        pool = {"protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN", **case.attributes}
        policy = {"action": "REDIRECT_TO_POOL", "redirect_pool": pool}
        for more in ({"default_pool": pool}, {"l7policies": [policy]}):
            answer = await api.post("/listeners", {"listener": new | more}, 501)
            assert case.words in answer["faultstring"] or "l7policy action" in answer["faultstring"]
    assert await rows(store) == before
    await api.post(*creating(case, await made(api, "dev")))


@pytest.mark.parametrize(
    ("versions", "words"),
    [
        (["SSLv3", "TLSv1"], ["tls_versions SSLv3", "TLSv1, TLSv1.1, TLSv1.2, TLSv1.3"]),
        (["TLSv1.3", "TLSv1.1"], ["tls_versions TLSv1.3, TLSv1.1", "follow one another"]),
    ],
)
async def test_tls_versions_that_haproxy_does_not_speak_are_refused(
    api: Client, versions: list[str], words: list[str]
) -> None:
    there = await made(api, "hap")
    new = {"loadbalancer_id": there.root, "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN", "tls_enabled": True}
    change = {"tls_versions": versions}
    for method, path, wanted in (("POST", "/pools", new | change), ("PUT", f"/pools/{there.pool}", change)):
        answer = await api.call(method, path, 501, {"pool": wanted})
        for word in words:
            assert word in answer["faultstring"]
    await api.post("/pools", {"pool": new | {"tls_versions": ["TLSv1.1", "TLSv1.2"]}})
