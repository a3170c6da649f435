"""Neutron refuses, fails, is away or does not answer: what the tenant is told, and what is left to be given back."""

from collections.abc import Callable
from typing import Any

import pytest
import requests

from evenkeel.core.kit.errors import Conflict, Invalid, NetworkUnavailable, NotFound
from evenkeel.core.networking.attachment import DevicePort
from evenkeel.core.networking.network import PortClaim
from evenkeel.core.networking.networks import AddressUse
from evenkeel.network.neutron.driver import NeutronNetwork
from tests.network.claims import Claims
from tests.network.neutron.stub import SUBNET, Answer, client_over, neutron_error

pytestmark = pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # the SDK's, of itself


class Case:
    """A driver over a Neutron that answers ``method path`` otherwise than a healthy one."""

    def __init__(self, answers: dict[str, Answer | Callable[[], Answer]]) -> None:
        def say(method: str, path: str) -> Answer | None:
            answer = answers.get(f"{method} {path}")
            return answer() if callable(answer) else answer

        client, self.transport = client_over(say)
        self.claims = Claims()
        self.device_ports = Claims()
        self.driver = NeutronNetwork(client, self.claims, self.device_ports, timeout_seconds=60.0)

    async def plan(self, **wanted: Any) -> Any:
        nothing = dict.fromkeys(("subnet_id", "network_id", "port_id", "address"))
        return await self.driver.plan_vip(
            **{**nothing, "project_id": "p1", "load_balancer_id": "lb", "subnet_id": "s1", **wanted}
        )


Make = Callable[[dict[str, Answer | Callable[[], Answer]]], Case]


@pytest.fixture
def case() -> Any:
    made: list[Case] = []

    def make(answers: dict[str, Answer | Callable[[], Answer]]) -> Case:
        made.append(Case(answers))
        return made[-1]

    yield make
    for each in made:
        each.driver.close()


AWAY = (
    requests.ConnectionError("refused"),
    requests.Timeout("slow"),
    (500, {"NeutronError": {"type": "HTTPInternalServerError", "message": "secret", "detail": ""}}),
    (503, {}),
    (429, {}),
)


@pytest.mark.parametrize("answer", AWAY, ids=str)
async def test_away_before_anything_was_taken_claims_nothing(case: Make, answer: Answer) -> None:
    it = case({"GET /v2.0/subnets/s1": answer})
    with pytest.raises(NetworkUnavailable, match="Neutron") as raised:
        await it.plan()
    assert "secret" not in str(raised.value)
    assert not it.claims.standing


@pytest.mark.parametrize("answer", AWAY, ids=str)
async def test_away_while_the_port_is_made_leaves_a_claim_that_is_due(case: Make, answer: Answer) -> None:
    it = case({"POST /v2.0/ports": answer})
    with pytest.raises(NetworkUnavailable):
        await it.plan()
    assert it.claims.standing == {"lb": PortClaim(claim_id="lb", device_owner="Octavia", device_id="lb-lb")}
    assert it.claims.abandoned == ["lb"]


@pytest.mark.parametrize("status", [401, 403])
async def test_refused_credentials_are_the_operators_problem(case: Make, status: int) -> None:
    it = case({"GET /v2.0/subnets/s1": (status, {})})
    with pytest.raises(NetworkUnavailable, match=f"credentials are refused.*{status}"):
        await it.plan()


@pytest.mark.parametrize(
    ("answer", "error", "text"),
    [
        (
            neutron_error(409, "IpAddressAlreadyAllocated", "…"),
            Conflict,
            "VIP address 10.0.0.9 is in use on network n1",
        ),
        (neutron_error(409, "IpAddressGenerationFailure", "…"), Conflict, "Subnet s1 has no free VIP address"),
        (neutron_error(409, "OverQuota", "Quota exceeded for resources: ['port']."), Conflict, "Quota exceeded"),
        (neutron_error(400, "InvalidInput", "no such thing"), Invalid, "no such thing"),
        ((404, "not JSON of Neutron's"), Invalid, "HTTP 404"),
    ],
)
async def test_a_refused_port_is_reported_and_leaves_no_claim(
    case: Make, answer: Answer, error: type[Exception], text: str
) -> None:
    it = case({"POST /v2.0/ports": answer})
    with pytest.raises(error, match=text):
        await it.plan(address="10.0.0.9")
    assert not it.claims.standing


async def test_a_full_subnet_of_a_network_gives_way_to_the_next_one(case: Make) -> None:
    second = {**SUBNET, "id": "s2", "cidr": "10.1.0.0/24", "gateway_ip": "10.1.0.1"}
    full = neutron_error(409, "IpAddressGenerationFailure", "…")
    addresses = [{"subnet_id": "s2", "ip_address": "10.1.0.9"}]
    made = (201, {"port": {"id": "x", "network_id": "n1", "fixed_ips": addresses}})
    answers = iter((full, made, full, full))
    it = case(
        {
            "GET /v2.0/networks/n1": (200, {"network": {"id": "n1", "project_id": "p1", "subnets": ["s1", "s2"]}}),
            "GET /v2.0/subnets": (200, {"subnets": [SUBNET, second]}),
            "POST /v2.0/ports": lambda: next(answers),
        }
    )
    found = await it.plan(subnet_id=None, network_id="n1")
    assert (found.subnet_id, found.address) == ("s2", "10.1.0.9")
    it.claims.standing.clear()
    with pytest.raises(Conflict, match="Network n1 has no free VIP address"):
        await it.plan(subnet_id=None, network_id="n1")
    assert not it.claims.standing


async def test_a_neutron_that_was_away_at_first_is_used_once_it_is_there(case: Make) -> None:
    it = case({})
    it.transport.away = requests.ConnectionError("refused")
    for _ in range(2):
        with pytest.raises(NetworkUnavailable):
            await it.driver.read_facts(["s1"])
    it.transport.away = None
    with pytest.raises(NotFound, match="s2"):
        await it.plan(subnet_id="s2")


async def test_an_api_in_disorder_is_unavailable_and_not_the_tenants_fault(case: Make) -> None:
    it = case({"GET /v2.0/subnets/s1": (400, {"whose": "fault"})})
    with pytest.raises(NetworkUnavailable, match="refuses to be read: HTTP 400"):
        await it.plan()


async def test_one_that_was_frozen_beyond_its_claim_makes_no_port_any_more() -> None:
    client, transport = client_over(lambda _method, _path: None)
    claims, times = Claims(), iter([0.0, 1_000_000.0])
    driver = NeutronNetwork(client, claims, Claims(), timeout_seconds=60.0, monotonic=lambda: next(times))
    wanted = dict.fromkeys(("network_id", "port_id", "address"))
    with pytest.raises(NetworkUnavailable, match="took too long"):
        await driver.plan_vip(project_id="p1", load_balancer_id="lb", subnet_id="s1", **wanted)
    driver.close()
    assert ("POST", "/v2.0/ports") not in transport.asked
    assert claims.abandoned == ["lb"]


async def test_no_port_is_made_that_is_not_claimed_first(case: Make) -> None:
    it = case({})

    async def fail(*_args: Any, **_kw: Any) -> None:
        raise NetworkUnavailable("the database is away")

    it.claims.store_claim = fail  # type: ignore[method-assign]
    with pytest.raises(NetworkUnavailable):
        await it.plan()
    assert ("POST", "/v2.0/ports") not in it.transport.asked


@pytest.mark.parametrize("wanted", [{"subnet_id": ".."}, {"subnet_id": None, "network_id": "."}, {"port_id": "..."}])
async def test_an_id_of_dots_is_no_step_in_a_path(case: Make, wanted: dict[str, Any]) -> None:
    it = case({})
    with pytest.raises(Exception, match="not found"):
        await it.plan(**wanted)
    assert it.transport.asked == []


async def test_a_port_that_cannot_be_deleted_is_a_conflict_and_one_out_of_reach_is_not(case: Make) -> None:
    claim = PortClaim(claim_id="lb", device_owner="Octavia", device_id="lb-lb", port_id="x")
    it = case({"DELETE /v2.0/ports/x": neutron_error(409, "PortInUse", "in use by a router")})
    with pytest.raises(Conflict, match="in use by a router"):
        await it.driver.release_vip(claim)
    it = case({"DELETE /v2.0/ports/x": requests.ConnectionError("refused")})
    with pytest.raises(NetworkUnavailable):
        await it.driver.release_vip(claim)


SUBNETS: Answer = (200, {"subnets": [SUBNET]})


async def test_a_segment_that_is_not_reported_states_what_the_user_lacks(case: Make) -> None:
    networks = {"networks": [{"id": "n1", "mtu": 1500}]}
    it = case({"GET /v2.0/subnets": SUBNETS, "GET /v2.0/networks": (200, networks)})
    facts = await it.driver.read_facts(["s1"])
    assert not facts.subnets and "must be admin" in facts.refused["s1"]


async def test_a_network_of_several_segments_is_refused(case: Make) -> None:
    networks = {"networks": [{"id": "n1", "segments": [{"provider:network_type": "vlan"}]}]}
    it = case({"GET /v2.0/subnets": SUBNETS, "GET /v2.0/networks": (200, networks)})
    assert (await it.driver.read_facts(["s1"])).refused == {"s1": "network n1 has several segments"}


async def test_hosts_tunnels_end_where_their_agents_say(case: Make) -> None:
    ports = [
        {"fixed_ips": [{"ip_address": f"10.0.0.{number}"}], "mac_address": f"mac-{number}", "binding:host_id": host}
        for number, host in ((1, "one"), (2, "two"), (3, "three"))
    ]
    agents = [
        {"host": "one", "configurations": {"tunneling_ip": "192.0.2.1"}},
        {"host": "one", "configurations": {}},  # another kind of agent
        {"host": "two", "configurations": None},
    ]
    it = case({"GET /v2.0/ports": (200, {"ports": ports}), "GET /v2.0/agents": (200, {"agents": agents})})
    hosts = await it.driver.find_hosts("n1", ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"])
    assert [(each.mac_address, each.vtep) for each in hosts.values()] == [
        ("mac-1", "192.0.2.1"),
        ("mac-2", ""),
        ("mac-3", ""),
        ("", ""),
    ]
    assert [path for _, path in it.transport.asked[-2:]] == ["/v2.0/ports", "/v2.0/agents"]


@pytest.mark.parametrize("answer", AWAY, ids=str)
async def test_a_port_for_devices_that_may_have_been_made_is_given_up(case: Make, answer: Answer) -> None:
    it = case({"POST /v2.0/ports": answer})
    wanted = DevicePort(
        subnet_id="s1", network_id="n1", use=AddressUse.SNAT, owner="traffic-group-1", index=0, binding_host=""
    )
    with pytest.raises(NetworkUnavailable):
        await it.driver.take_address(wanted)
    assert list(it.device_ports.standing) == it.device_ports.abandoned


async def test_extension_that_neutron_lacks_is_an_empty_list(case: Make) -> None:
    assert await case({}).driver.look_up("policies", {}, project_id="p1") == ()
