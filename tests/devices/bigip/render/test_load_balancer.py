"""What definitions come to, attribute by attribute."""

from typing import Any

import pytest
from hypothesis import given
from structlog.testing import capture_logs

from evenkeel.core.devices.service import ServiceDefinition, ServiceMember
from evenkeel.core.networking.addresses import AddressRules, parsed_networks
from evenkeel.core.resources.model import SessionPersistence, Vip
from evenkeel.devices.bigip.attachment import ROUTED_NETWORK_LAYOUT
from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.objects import WantedObject
from evenkeel.devices.bigip.options import parse_options
from evenkeel.devices.bigip.render import load_balancer
from evenkeel.devices.bigip.render.load_balancer import render_load_balancer
from evenkeel.devices.bigip.render.network import objects as objects_of_networks
from evenkeel.devices.bigip.render.network.objects import DeviceAttachment, add_network_objects
from tests.devices.bigip.definitions import services, tls_services
from tests.devices.services import gone, listener, member, monitor, policy, pool, rule, service

NAMES = BigIpNames(environment="dev", prefix="dev", group=1)
PART = "/dev_a3f1c2"


def objects(definition: ServiceDefinition) -> dict[str, WantedObject]:
    rendered = render_load_balancer(definition, NAMES)
    assert not rendered.problem
    return {f"{item.key.type} {item.key.name}": item for item in rendered.objects}


def attributes(definition: ServiceDefinition, key: str) -> dict[str, Any]:
    return dict(objects(definition)[key].attributes)


def virtual(definition: ServiceDefinition) -> dict[str, Any]:
    return attributes(definition, "ltm/virtual dev_listener-1")


def profile_names(definition: ServiceDefinition) -> list[str]:
    return [profile["name"] for profile in virtual(definition)["profiles"]]


def test_a_usual_http_load_balancer() -> None:
    found = objects(service(members=1))
    assert {key: dict(item.attributes) for key, item in found.items()} == {
        "ltm/monitor/http dev_monitor-1": {
            "defaultsFrom": "/Common/http",
            "destination": "*:*",
            "interval": 5,
            "timeout": 18,
            "timeUntilUp": 5,
            "send": "GET / HTTP/1.0\\r\\n\\r\\n",
            "recv": "HTTP/1\\.[01] (200)",
            "description": "evenkeel:dev/1:monitor:lb-1:monitor-1",
        },
        "ltm/virtual-address dev_lb-1": {
            "address": "10.1.0.2",
            "mask": "255.255.255.255",
            "autoDelete": "false",
            "arp": "enabled",
            "enabled": "yes",
            "description": "evenkeel:dev/1:loadbalancer:lb-1:lb-1",
        },
        "ltm/pool dev_pool-1": {
            "loadBalancingMode": "round-robin",
            "minActiveMembers": 0,
            "queueOnConnectionLimit": "disabled",
            "queueDepthLimit": 0,
            "queueTimeLimit": 0,
            "monitor": f"{PART}/dev_monitor-1",
            "description": "evenkeel:dev/1:pool:lb-1:pool-1",
        },
        "ltm/virtual dev_listener-1": {
            "destination": f"{PART}/dev_lb-1:80",
            "mask": "255.255.255.255",
            "ipProtocol": "tcp",
            "pool": f"{PART}/dev_pool-1",
            "profiles": [
                {"name": "/Common/http", "context": "all"},
                {"name": "/Common/tcp", "context": "all"},
                {"name": "/Common/oneconnect", "context": "all"},
            ],
            "rules": [],
            "persist": [],
            "fallbackPersistence": "",
            "sourceAddressTranslation": {"type": "automap"},
            "connectionLimit": 0,
            "enabled": True,
            "policies": [],
            "description": "evenkeel:dev/1:listener:lb-1:listener-1",
        },
    }
    (only,) = found["ltm/pool dev_pool-1"].members
    assert (only.key.name, only.key.pool) == ("10.2.1.1:8080", "dev_pool-1")
    assert only.attributes == {
        "address": "10.2.1.1",
        "ratio": 1,
        "connectionLimit": 0,
        "priorityGroup": 0,
        "session": "user-enabled",
        "state": "user-up",
        "monitor": "default",
        "description": "evenkeel:dev/1:member:lb-1:member-1-1",
    }


def test_a_deleted_load_balancer_comes_to_nothing() -> None:
    assert objects(gone()) == {}


def test_equal_definitions_render_equal_and_names_of_users_stay_off_the_device() -> None:
    named = service(name="<script>", listeners=(listener(name="x", description="y"),))
    assert render_load_balancer(named, NAMES).objects == render_load_balancer(service(), NAMES).objects


@pytest.mark.parametrize("protocol", ["TCP", "HTTPS"])
def test_listener_without_http_uses_fast_l4(protocol: str) -> None:
    definition = service(listeners=(listener(protocol=protocol),), pools=(pool(protocol=protocol),))
    assert profile_names(definition) == ["/Common/fastL4"]


def test_ipv6_everywhere() -> None:
    definition = service(
        vip=Vip(address="2001:DB8::5", subnet_id="s", network_id="n", port_id="p"),
        pools=(pool(members=0, monitor=None),),
    )
    address = attributes(definition, "ltm/virtual-address dev_lb-1")
    assert address["address"] == "2001:db8::5" and address["mask"].startswith("ffff:")
    rendered = objects(service(pools=(pool(members=(member(address="2001:DB8:0::9"),)),)))
    (only,) = rendered["ltm/pool dev_pool-1"].members
    assert only.key.name == "2001:db8::9.8080" and only.attributes["address"] == "2001:db8::9"


def test_every_listener_listens_on_every_address() -> None:
    more = tuple(Vip(address=text, subnet_id="s", network_id="n", port_id="p") for text in ("10.1.7.7", "2001:DB8::7"))
    both = (listener(), listener(2, protocol="TCP", protocol_port=81))
    found = objects(service(listeners=both, pools=(pool(members=0, monitor=None),), additional_vips=more))
    addresses = {key: item.attributes for key, item in found.items() if key.startswith("ltm/virtual-address ")}
    assert [one["address"] for one in addresses.values()] == ["10.1.0.2", "10.1.7.7", "2001:db8::7"]
    assert len({one["description"] for one in addresses.values()}) == 3
    for name, address in addresses.items():
        path = f"{PART}/{name.partition(' ')[2]}"
        there = [
            item.attributes for item in found.values() if str(item.attributes.get("destination", "")).startswith(path)
        ]
        assert [one["destination"] for one in there] == [f"{path}:80", f"{path}:81"]
        assert {one["mask"] for one in there} == {address["mask"]}
    reversed_ = objects(service(listeners=both, pools=(pool(members=0, monitor=None),), additional_vips=more[::-1]))
    assert reversed_ == found


def test_a_limit_of_no_connections_disables_the_virtual_server() -> None:
    shut = virtual(service(listeners=(listener(connection_limit=0),)))
    assert shut["disabled"] is True and "enabled" not in shut
    assert virtual(service(listeners=(listener(connection_limit=7),)))["connectionLimit"] == 7
    assert virtual(service(listeners=(listener(connection_limit=-1),)))["connectionLimit"] == 0


def test_admin_down_disables_the_objects_on_the_device() -> None:
    assert attributes(service(admin_state_up=False), "ltm/virtual-address dev_lb-1")["enabled"] == "no"
    for definition in (
        service(admin_state_up=False),
        service(listeners=(listener(admin_state_up=False),)),
    ):
        assert virtual(definition)["disabled"] is True and "enabled" not in virtual(definition)
    down = service(pools=(pool(admin_state_up=False),))
    assert virtual(down)["pool"] == ""
    assert {one.attributes["state"] for one in objects(down)["ltm/pool dev_pool-1"].members} == {"user-down"}
    unchecked = objects(service(pools=(pool(monitor=monitor(admin_state_up=False)),)))
    assert unchecked["ltm/pool dev_pool-1"].attributes["monitor"] == ""
    assert "ltm/monitor/http dev_monitor-1" not in unchecked


def members_of(*members: ServiceMember, **changes: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    item = objects(service(pools=(pool(members=members, **changes),)))["ltm/pool dev_pool-1"]
    return dict(item.attributes), [dict(one.attributes) for one in item.members]


def test_weight_0_drains_and_admin_down_forces_offline() -> None:
    _, (drained, forced, usual) = members_of(
        member(place=1, weight=0), member(place=2, admin_state_up=False), member(place=3)
    )
    assert (drained["session"], drained["state"], drained["ratio"]) == ("user-disabled", "user-up", 1)
    assert (forced["session"], forced["state"]) == ("user-disabled", "user-down")
    assert (usual["session"], usual["state"]) == ("user-enabled", "user-up")


def test_backup_members_serve_when_no_other_can() -> None:
    found, (primary, backup) = members_of(member(place=1), member(place=2, backup=True))
    assert primary["priorityGroup"] > backup["priorityGroup"] > 0
    assert found["minActiveMembers"] == 1


@pytest.mark.parametrize(
    ("algorithm", "weight", "mode"),
    [
        ("ROUND_ROBIN", 1, "round-robin"),
        ("ROUND_ROBIN", 5, "ratio-member"),
        ("LEAST_CONNECTIONS", 1, "least-connections-member"),
        ("LEAST_CONNECTIONS", 5, "ratio-least-connections-member"),
        ("SOURCE_IP", 1, "least-connections-node"),
        ("SOURCE_IP", 5, "ratio-least-connections-member"),
    ],
)
def test_algorithms(algorithm: str, weight: int, mode: str) -> None:
    found, _ = members_of(member(place=1, weight=weight), member(place=2), lb_algorithm=algorithm)
    assert found["loadBalancingMode"] == mode


def persist(**changes: Any) -> Any:
    return [f"/{one['partition']}/{one['name']}" for one in virtual(service(pools=(pool(**changes),)))["persist"]]


def test_persistence() -> None:
    assert persist(session_persistence=SessionPersistence(type="SOURCE_IP")) == ["/Common/source_addr"]
    assert persist(session_persistence=SessionPersistence(type="HTTP_COOKIE")) == ["/Common/cookie"]
    named = SessionPersistence(type="HTTP_COOKIE", cookie_name="stick")
    assert persist(session_persistence=named) == [f"{PART}/dev_cookie_pool-1"]
    profile = attributes(service(pools=(pool(session_persistence=named),)), "ltm/persistence/cookie dev_cookie_pool-1")
    assert profile["cookieName"] == "stick"


def test_inserted_headers_make_a_profile() -> None:
    definition = service(listeners=(listener(insert_headers={"X-Forwarded-For": "true", "X-Forwarded-Port": "True"}),))
    profile = attributes(definition, "ltm/profile/http dev_http_listener-1")
    assert (profile["insertXforwardedFor"], profile["headerInsert"]) == ("enabled", "X-Forwarded-Port: 80")
    assert f"{PART}/dev_http_listener-1" in profile_names(definition)
    off = service(listeners=(listener(insert_headers={"X-Forwarded-For": "false"}),))
    assert "/Common/http" in profile_names(off)


@pytest.mark.parametrize(
    ("client", "server", "seconds"), [(60_000, 50_000, "60"), (1, 1, "1"), (50_000, 0, "indefinite")]
)
def test_other_timeouts_make_a_transport_profile(client: int, server: int, seconds: str) -> None:
    for protocol, kind in (("HTTP", "tcp"), ("TCP", "fastl4")):
        changed = listener(protocol=protocol, timeout_client_data=client, timeout_member_data=server)
        definition = service(listeners=(changed,), pools=(pool(protocol=protocol),))
        profile = attributes(definition, f"ltm/profile/{kind} dev_{kind}_listener-1")
        assert profile["idleTimeout"] == seconds
        assert f"{PART}/dev_{kind}_listener-1" in profile_names(definition)


@pytest.mark.parametrize(
    ("definition", "words"),
    [
        (service(listeners=(listener(timeout_tcp_inspect=1),)), "timeout_tcp_inspect 1"),
        (
            service(
                listeners=(listener(protocol="SCTP", timeout_member_connect=1),),
                pools=(pool(protocol="SCTP", monitor=None),),
            ),
            "timeout_member_connect 1",
        ),
        (service(pools=(pool(protocol="PROXY", monitor=monitor(type="HTTPS")),)), "HTTPS"),
        (service(pools=(pool(protocol="PROXYV2", tls_enabled=True),)), "HTTP over TLS"),
        (service(pools=(pool(protocol="UDP", monitor=monitor(type="SCTP")),)), "type SCTP"),
        (service(listeners=(listener(protocol="PROMETHEUS", default_pool_id=None),)), "protocol PROMETHEUS"),
        (service(listeners=(listener(allowed_cidrs=("10.0.0.0/33",)),)), "allowed_cidrs"),
        (service(listeners=(listener(insert_headers={"X-Forwarded-For": "perhaps"}),)), "X-Forwarded-For"),
        (service(listeners=(listener(insert_headers={"X-SSL-Client-CN": "true"}),)), "X-SSL-Client-CN"),
        (service(listeners=(listener(protocol="TCP", insert_headers={"X-Forwarded-For": "true"}),)), "protocol HTTP"),
        (
            service(
                listeners=(listener(protocol="HTTPS"),),
                pools=(pool(protocol="HTTPS", session_persistence=SessionPersistence(type="HTTP_COOKIE")),),
            ),
            "HTTP_COOKIE",
        ),
        (service(pools=(pool(monitor=monitor(expected_codes="2xx")),)), "expected_codes"),
        (service(pools=(pool(monitor=monitor(expected_codes="300-200")),)), "expected_codes"),
        (service(pools=(pool(monitor=monitor(http_method="GET /x")),)), "http_method"),
        (service(pools=(pool(monitor=monitor(domain_name="a\r\nb", http_version=1.1)),)), "domain_name"),
        (service(pools=(pool(monitor=monitor(url_path="x")),)), "url_path"),
        (service(pools=(pool(monitor=monitor(delay=86_400)),)), "delay"),
        (service(vip=Vip(address="x", subnet_id="s", network_id="n", port_id="p")), "vip_address"),
    ],
)
def test_impossible_definition_is_a_problem_that_names_field_and_value(
    definition: ServiceDefinition, words: str
) -> None:
    rendered = render_load_balancer(definition, NAMES)
    assert words in rendered.problem and not rendered.objects


def test_an_error_of_ours_is_the_problem_of_one_load_balancer(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise ValueError("wrong")

    monkeypatch.setattr(load_balancer, "pool_object", broken)
    with capture_logs() as logs:
        found = render_load_balancer(service(), NAMES)
    assert found.problem == "an unexpected error of the agent (ValueError); its log has the details"
    assert not found.objects
    (logged,) = logs
    assert logged["load_balancer"] == "lb-1" and str(logged["exc_info"]) == "wrong"
    monkeypatch.setattr(objects_of_networks, "network_objects", broken)
    at = DeviceAttachment(device="a", options=ROUTED_NETWORK_LAYOUT)
    assert "ValueError" in add_network_objects(render_load_balancer(service(pools=()), NAMES), at, NAMES).problem


@given(definition=services(1) | tls_services(1))
def test_nothing_that_is_sent_looks_like_a_tag(definition: ServiceDefinition) -> None:
    """Devices may refuse requests with what looks like HTML, whoever wrote it."""
    assert "<" not in str(render_load_balancer(definition, NAMES).objects)


def test_texts_of_tenants_with_tags_are_sent_without_them() -> None:
    tag = "<b>x</b>"
    definition = service(
        listeners=(
            listener(
                l7policies=(
                    policy(1, rule(value=f"/{tag}"), rule(2, type="HEADER", key="X-A", value=tag)),
                    policy(2, rule(3, value=tag, compare_type="REGEX")),
                )
            ),
            listener(
                2,
                default_pool_id="pool-1",
                protocol_port=81,
                l7policies=(policy(4, rule(value=f"/{tag}"), action="REDIRECT_TO_URL", redirect_url="https://a.test"),),
            ),
        ),
        pools=(pool(monitor=monitor(url_path=f"/{tag}")),),
    )
    found = render_load_balancer(definition, NAMES)
    assert not found.problem and "<" not in str(found.objects)


def test_members_cannot_be_twice() -> None:
    for members, words in (
        ((member(place=1), member(place=1, id="other")), "two members at 10.2.1.1:8080"),
        ((member(address="not-an-address"),), "no IPv4 or IPv6 address"),
        ((member(monitor_address="not-an-address"),), "no IPv4 or IPv6 address"),
    ):
        assert words in render_load_balancer(service(pools=(pool(members=members),)), NAMES).problem


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "::ffff:127.0.0.1", "169.254.169.254", "fe80::1", "0.0.0.0"])
def test_no_device_is_sent_to_itself_or_ordered_to_listen_there(address: str) -> None:
    sent = service(pools=(pool(members=(member(address=address),)),))
    there = Vip(address=address, subnet_id="s", network_id="n", port_id="p")
    for definition, words in (
        (sent, f"address {address!r}"),
        (service(vip=there), f"vip_address {address!r}"),
        (service(additional_vips=(there,)), f"additional_vips {address!r}"),
        (service(pools=(pool(members=(member(monitor_address=address),)),)), f"monitor_address {address!r}"),
    ):
        rendered = render_load_balancer(definition, NAMES)
        assert words in rendered.problem and "is allowed" in rendered.problem and not rendered.objects


def test_an_operators_rules_are_heeded() -> None:
    definition = service(pools=(pool(members=(member(address="127.0.0.1"),)),))
    assert render_load_balancer(definition, NAMES, AddressRules(allow_loopback=True)).objects
    closed = AddressRules(denied_networks=parsed_networks(["10.2.0.0/16"]))
    assert (
        "closed to members"
        in render_load_balancer(service(pools=(pool(members=(member(place=1),)),)), NAMES, closed).problem
    )


def test_the_rules_are_options_of_the_driver() -> None:
    given = {"icontrol_hostname": "a", "icontrol_username": "u", "icontrol_password": "p", "f5_ha_type": "standalone"}

    def parsed(**more: str) -> AddressRules:
        return parse_options({**given, **more}, environment="dev", group_number=1, host="h").addresses

    assert parsed() == AddressRules()
    made = parsed(allow_loopback_addresses="true", denied_member_networks="10.0.0.0/8, fd00::/8")
    assert made.allow_loopback and made.member_problem("10.1.1.1") and made.member_problem("fd00::1")
    own = parsed(icontrol_hostname="[2001:db8::9]:8443")
    assert own.member_problem("2001:DB8::9") == own.vip_problem("2001:db8::9") == "it is the device's own"
    assert parsed(icontrol_hostname="192.0.2.9").member_problem("192.0.2.9") and not own.member_problem("192.0.2.9")
    assert parsed(icontrol_hostname="127.0.0.1:8443").own_addresses == frozenset()
    with pytest.raises(ValueError, match=r"denied_member_networks: '10\.0\.0\.1/8'"):
        parsed(denied_member_networks="10.0.0.1/8")
