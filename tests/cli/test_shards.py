"""``evenkeel shard …``, short ids, and tables that fit a terminal."""

import pytest

from tests.cli.conftest import Run
from tests.cli.stub import Stub

SHARD, OTHER = "5b1f2f0e-0000-4000-8000-000000000001", "5b1f2f0e-0000-4000-8000-000000000002"
PROJECT = "77ed1a2b" + "0" * 24
ROW = {
    "id": SHARD,
    "environment": "production",
    "group_number": 1,
    "project_id": PROJECT,
    "home_agent_id": "a-1",
    "acting_agent_id": "a-2",
    "epoch": 12345,
    "handover_to": None,
    "served": True,
    "halted": "",
}
AGENTS = {"agents": [{"id": "a-1", "host": "lb-agent-1"}, {"id": "a-2", "host": "lb-agent-2"}]}


@pytest.fixture(autouse=True)
def shards(stub: Stub) -> None:
    stub.on("GET", "/shards", {"shards": [ROW, ROW | {"id": OTHER, "served": False, "acting_agent_id": None}]})
    stub.on("GET", "/agents", AGENTS)


def test_a_table_fits_80_columns(evenkeel: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = evenkeel("shard", "list").out.splitlines()
    assert max(map(len, lines)) <= 80 and len(lines) == 6
    assert SHARD[:8] in lines[3] and SHARD not in lines[3] and PROJECT[:8] in lines[3] and "lb-agent-2" in lines[3]


@pytest.mark.parametrize("words", [("--long",), ("-f", "json"), ("-c", "id"), ("-f", "value", "-c", "id")])
def test_ids_are_whole_where_they_are_requested(evenkeel: Run, words: tuple[str, ...]) -> None:
    assert SHARD in evenkeel("shard", "list", *words).out


def test_unserved_shards_are_listed(evenkeel: Run) -> None:
    assert evenkeel("shard", "list", "--unserved", "-f", "value", "-c", "id").out.split() == [OTHER]


def test_one_is_moved_by_the_beginning_of_its_id(stub: Stub, evenkeel: Run) -> None:
    stub.on("GET", "/ids?prefix=5b1f", {"ids": {"loadbalancers": [], "agents": [], "shards": [SHARD]}})
    stub.on("GET", "/agents?environment=production&group_number=1&host=lb-agent-2", {"agents": [{"id": "a-2"}]})
    stub.on("PUT", f"/shards/{SHARD}/rebind", {"shard": ROW | {"home_agent_id": "a-2"}})
    ran = evenkeel("shard", "move", "5b1f", "--to", "lb-agent-2", "-f", "value", "-c", "home_agent_id")
    assert (ran.code, ran.out) == (0, "a-2\n") and stub.asked[-1][2] == {"to": "a-2"}


def test_a_beginning_of_several_ids_is_refused(stub: Stub, evenkeel: Run) -> None:
    stub.on("GET", "/ids?prefix=5b1f", {"ids": {"loadbalancers": [], "agents": [], "shards": [SHARD, OTHER]}})
    ran = evenkeel("shard", "move", "5b1f", "--to", "x")
    assert ran.code == 1 and "several shards have ids that begin with 5b1f" in ran.err
    stub.on("GET", "/ids?prefix=5b20", {"ids": {"loadbalancers": [], "agents": [], "shards": []}})
    ran = evenkeel("shard", "move", "5b20", "--to", "x")
    assert ran.code == 1 and "no shard has the id '5b20'" in ran.err


def test_events_of_one_object(stub: Stub, evenkeel: Run) -> None:
    event = {"id": 4, "at": "2026-01-01T00:00:00", "kind": "k", "text": "t", "environment": "", "agent_id": ""}
    event |= {"shard_id": SHARD, "load_balancer_id": ""}
    stub.on("GET", f"/events?object_id={SHARD}&limit=20&newest=true", {"events": [event]})
    stub.on("GET", "/agents?host=5b1f2f0e", {"agents": []})
    stub.on("GET", "/ids?prefix=5b1f2f0e", {"ids": {"loadbalancers": [], "agents": [], "shards": [SHARD]}})
    for name in (SHARD, "5b1f2f0e"):
        assert evenkeel("events", "--for", name, "-f", "value", "-c", "text").out == "t\n"


AGENT = {"host": "lb-agent-1", "environment": "production", "group_number": 1, "state": "forced_down"}
AGENT |= {"acting_shards": 1000, "load_balancers": 10000, "queue_depth": 100, "id": SHARD, "devices": []}
NETWORK = {"id": SHARD, "name": "tenant-net", "network_type": "vxlan", "segmentation_id": 16777215, "mtu": 1450}
SUBNET = {"id": SHARD, "name": "tenant-subnet", "cidr": "255.255.255.255/32"}
PLACE = {"name": "production", "device_driver": "haproxy", "failback": "manual", "halted": "", "description": "d" * 20}
CERTIFICATE = {"reference": f"https://key-manager.example:9311/v1/secrets/{SHARD}", "kind": "revocation_list"}
CERTIFICATE |= {
    "subject": "CN=www.example.org",
    "not_after": "2027-01-01T00:00:00",
    "dns_names": ["a"],
    "sha256": "0" * 64,
}
REFERENCE = CERTIFICATE | {"project_id": SHARD, "load_balancers": [SHARD], "problem": "it expires"}
LOAD_BALANCER = {"id": SHARD, "name": "web-frontend", "vip_address": "255.255.255.255"}
LOAD_BALANCER |= {"provisioning_status": "PENDING_CREATE", "operating_status": "NO_MONITOR"}


@pytest.mark.parametrize(
    ("words", "key", "row", "base"),
    [
        (("agent", "list"), "agents", AGENT, "/evenkeel/v1/agents"),
        (("network", "list"), "networks", NETWORK, "/evenkeel/v1/networks"),
        (("subnet", "list"), "subnets", SUBNET, "/evenkeel/v1/subnets"),
        (("environment", "list"), "environments", PLACE, "/evenkeel/v1/environments"),
        (("certificate", "list"), "certificates", CERTIFICATE, "/evenkeel/v1/certificates"),
        (("certificate", "list", "--expiring"), "references", REFERENCE, "/evenkeel/v1/references?expiring_days=30"),
        (("loadbalancer", "list"), "loadbalancers", LOAD_BALANCER, "/v2/lbaas/loadbalancers?limit=1000"),
    ],
)
def test_usual_values_need_one_line_of_80_columns(
    stub: Stub, evenkeel: Run, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], key: str, row: object, base: str
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    stub.on("GET", "", {key: [row]}, base=base)
    lines = evenkeel(*words).out.splitlines()
    assert len(lines) == 5 and max(map(len, lines)) <= 80
