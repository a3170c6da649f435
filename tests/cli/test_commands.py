"""What each command asks and shows, and how it ends."""

import json

import pytest

from tests.cli.conftest import Run
from tests.cli.stub import Stub

AGENT_ID = "3b0a4b8e-6f0f-5df6-8f0a-0b1c2d3e4f50"
AGENT = {
    "id": AGENT_ID,
    "host": "host-1",
    "environment": "demo",
    "group_number": 1,
    "alive": True,
    "admin_state_up": True,
    "endpoints": ["10.0.0.1", "10.0.0.2"],
    "serving": [{"shard_id": "s", "epoch": 1}],
    "acting_shards": 2,
    "home_shards": 1,
    "load_balancers": 7,
    "queue_depth": 0,
}
LB_ID = "5b1f2f0e-0000-4000-8000-000000000001"
EVENT = {
    "id": 4,
    "at": "2026-01-01T00:00:00",
    "kind": "takeover",
    "text": "host-2 took over",
    "environment": "demo",
    "agent_id": "a",
    "shard_id": "s",
    "load_balancer_id": "",
}


def test_status_is_flat(stub: Stub, evenkeel: Run) -> None:
    status = {
        "message_broker": "connected",
        "agents": {"up": 3, "down": 0},
        "load_balancers": {"ACTIVE": 5},
        "shards": {"total": 2, "unserved": 0},
        "halted": [],
        "devices": [],
        "countdowns": ["2 partitions are not in the database", "1 load balancer is not"],
        "problems": [],
    }
    stub.on("GET", "/status", {"status": status})
    ran = evenkeel("status", "-f", "json")
    assert ran.code == 0
    assert json.loads(ran.out) == {
        "message_broker": "connected",
        "agents_up": 3,
        "agents_down": 0,
        "load_balancers_ACTIVE": 5,
        "shards_total": 2,
        "shards_unserved": 0,
        "environments_halted": "",
        "devices_out_of_reach": "",
        "countdowns": "2 partitions are not in the database; 1 load balancer is not",
    }


def test_status_reports_that_nothing_is_wrong_and_leaves_out_zeros(stub: Stub, evenkeel: Run) -> None:
    status = {"agents": {"up": 3, "down": 0}, "shards": {"total": 0}, "oldest_pending_seconds": 0.0}
    stub.on("GET", "/status", {"status": status | {"devices": [], "halted": [], "countdowns": [], "problems": []}})
    ran = evenkeel("status")
    first, *rows = ran.out.splitlines()
    assert (ran.code, first) == (0, "Nothing is wrong.")
    cells = [[cell.strip() for cell in row.split("|")[1:-1]] for row in rows[3:-1]]
    assert cells == [["agents", "3 up"], ["shards", "none"], ["oldest_pending_seconds", "0"]]


def test_status_reports_what_is_wrong_and_its_exit_code_does_too(stub: Stub, evenkeel: Run) -> None:
    status = {
        "agents": {"up": 3, "down": 0},
        "devices": [{"environment": "demo", "group_number": 1, "reach": "none", "out_of_reach": ["a", "b"]}],
        "halted": [{"environment": "gold", "since": None, "reason": "3 agents fell silent"}],
        "countdowns": [],
        "problems": [{"kind": "x", "text": "device group demo/1: out of reach: a, b", "remedy": "on h1: curl a"}],
    }
    stub.on("GET", "/status", {"status": status})
    ran = evenkeel("status", "-f", "json")
    assert ran.code == 1
    assert json.loads(ran.out)["devices_out_of_reach"] == "a, b"
    assert json.loads(ran.out)["environments_halted"] == "gold"
    assert ran.err == "problem: device group demo/1: out of reach: a, b; on h1: curl a\n"


def test_agents_state_how_many_of_their_devices_they_reach(stub: Stub, evenkeel: Run) -> None:
    devices = [{"name": "a", "reachable": True}, {"name": "b", "reachable": False}]
    whole, cut = AGENT | {"devices": devices[:1]}, AGENT | {"host": "host-2", "devices": devices}
    silent = cut | {"alive": False, "host": "host-3", "devices": [row | {"reachable": None} for row in devices]}
    stub.on("GET", "/agents", {"agents": [whole, cut, silent, AGENT]})
    ran = evenkeel("agent", "list", "-f", "value", "-c", "devices_in_reach")
    assert (ran.code, ran.out.split("\n")) == (1, ["1/1", "1/2", "?/2", "", ""])
    assert ran.err == "problem: agent host-2 does not reach b\n"
    stub.on("GET", f"/agents/{AGENT_ID}", {"agent": cut})
    ran = evenkeel("agent", "show", AGENT_ID, "-f", "value", "-c", "devices_in_reach")
    assert (ran.code, ran.out) == (1, "1/2\n")
    stub.on("GET", f"/agents/{AGENT_ID}", {"agent": whole})
    assert evenkeel("agent", "show", AGENT_ID).code == 0


def test_agent_list_filters_on_the_server_and_shows_chosen_columns(stub: Stub, evenkeel: Run) -> None:
    stub.on("GET", "/agents?environment=demo", {"agents": [AGENT]})
    ran = evenkeel("agent", "list", "--environment", "demo", "-f", "csv", "-c", "host", "-c", "load_balancers")
    assert ran.out.split() == ['"host","load_balancers"', '"host-1",7']


@pytest.mark.parametrize("form", ["table", "yaml", "value"])
def test_every_output_format_is_there(stub: Stub, evenkeel: Run, form: str) -> None:
    stub.on("GET", "/agents", {"agents": [AGENT]})
    ran = evenkeel("agent", "list", "-f", form)
    assert ran.code == 0
    assert "host-1" in ran.out


def test_an_agent_is_shown_by_id(stub: Stub, evenkeel: Run) -> None:
    stub.on("GET", f"/agents/{AGENT_ID}", {"agent": AGENT})
    shown = json.loads(evenkeel("agent", "show", AGENT_ID, "-f", "json").out)
    assert shown["endpoints"] == ["10.0.0.1", "10.0.0.2"]
    assert shown["serving"] == [{"shard_id": "s", "epoch": 1}]
    assert evenkeel("agent", "show", AGENT_ID, "-f", "value", "-c", "endpoints").out == "10.0.0.1, 10.0.0.2\n"


def test_an_agent_is_disabled_by_its_host(stub: Stub, evenkeel: Run) -> None:
    stub.on("GET", "/agents?host=host-1", {"agents": [AGENT]})
    stub.on("PUT", f"/agents/{AGENT_ID}", {"agent": AGENT | {"admin_state_up": False}})
    ran = evenkeel("agent", "set", "host-1", "--disable", "-f", "value", "-c", "admin_state_up")
    assert ran.out == "False\n"
    assert stub.asked[-1] == ("PUT", f"/agents/{AGENT_ID}", {"agent": {"admin_state_up": False}})


def test_a_host_with_several_agents_is_refused_and_they_are_named(stub: Stub, evenkeel: Run) -> None:
    stub.on("GET", "/agents?host=host-1", {"agents": [AGENT, AGENT | {"id": "other"}]})
    ran = evenkeel("agent", "delete", "host-1")
    assert ran.code == 1
    assert "other (demo, group 1)" in ran.err


def test_deletion_reports_nothing(stub: Stub, evenkeel: Run) -> None:
    stub.on("GET", f"/agents/{AGENT_ID}", {"agent": AGENT})
    stub.on("DELETE", f"/agents/{AGENT_ID}", status=204)
    ran = evenkeel("agent", "delete", AGENT_ID)
    assert (ran.code, ran.out, ran.err) == (0, "", "")


def test_load_balancers_on_an_agent_are_read_to_the_last_page(stub: Stub, evenkeel: Run) -> None:
    path = f"/agents/{AGENT_ID}/loadbalancers?limit=1000"
    stub.on("GET", f"/agents/{AGENT_ID}", {"agent": AGENT})
    stub.on("GET", path, {"loadbalancers": [{"id": "l1"}], "loadbalancers_links": [{"rel": "next", "href": "…"}]})
    stub.on("GET", f"{path}&marker=l1", {"loadbalancers": [{"id": "l2"}], "loadbalancers_links": []})
    ran = evenkeel("loadbalancer", "list-on-agent", AGENT_ID, "-f", "value", "-c", "id")
    assert ran.out.split() == ["l1", "l2"]


def test_show_agent_of_a_load_balancer_that_waits_for_a_place(stub: Stub, evenkeel: Run) -> None:
    hosting = {"load_balancer_id": "l1", "revision": 1, "applied_revision": 0, "status_reason": "no agent is alive"}
    waiting = hosting | {"shard": None, "home": None, "acting": None}
    stub.on("GET", f"/loadbalancers/{LB_ID}/agent", {"hosting": waiting})
    shown = json.loads(evenkeel("loadbalancer", "show-agent", LB_ID, "-f", "json").out)
    assert shown["acting_host"] == ""
    assert shown["status_reason"] == "no agent is alive"


def test_show_agent_tells_acting_and_home(stub: Stub, evenkeel: Run) -> None:
    hosting = {
        "load_balancer_id": "l1",
        "revision": 2,
        "applied_revision": 2,
        "status_reason": "",
        "shard": {"id": "s", "environment": "demo", "group_number": 1, "epoch": 5},
        "home": AGENT,
        "acting": AGENT | {"id": "a2", "host": "host-2"},
    }
    stub.on("GET", f"/loadbalancers/{LB_ID}/agent", {"hosting": hosting})
    shown = json.loads(evenkeel("loadbalancer", "show-agent", LB_ID, "-f", "json").out)
    assert (shown["acting_host"], shown["home_host"], shown["epoch"]) == ("host-2", "host-1", 5)


def test_a_subnet_is_created_with_what_was_said_only(stub: Stub, evenkeel: Run) -> None:
    stub.on("POST", "/subnets", {"subnet": {"id": "n1", "name": "web"}}, status=201)
    evenkeel("subnet", "create", "web", "--cidr", "10.0.0.0/24", "--gateway-ip", "10.0.0.1")
    assert stub.asked[0][2] == {"subnet": {"name": "web", "cidr": "10.0.0.0/24", "gateway_ip": "10.0.0.1"}}


def test_addresses_of_a_subnet_are_reserved(stub: Stub, evenkeel: Run) -> None:
    stub.on("POST", "/subnets", {"subnet": {"id": "n1", "name": "web"}}, status=201)
    words = ("--reserve", "10.0.0.1", "--reserve", "10.0.0.5-10.0.0.9")
    evenkeel("subnet", "create", "web", "--cidr", "10.0.0.0/24", *words)
    assert stub.asked[0][2]["subnet"]["reserved"] == ["10.0.0.1", "10.0.0.5-10.0.0.9"]


def test_a_subnet_is_deleted_by_name(stub: Stub, evenkeel: Run) -> None:
    stub.on("GET", "/subnets", {"subnets": [{"id": "n1", "name": "web"}]})
    stub.on("DELETE", "/subnets/n1", status=204)
    assert evenkeel("subnet", "delete", "web").code == 0
    assert evenkeel("subnet", "delete", "other").code == 1


HOSTILE = "lb\x1b[2J\r\u202e\n"
"""A name that would clear an operator's terminal."""


def test_names_give_an_operators_terminal_no_orders(stub: Stub, evenkeel: Run) -> None:
    stub.on("GET", "/subnets", {"subnets": [{"id": "n1", "name": HOSTILE, "cidr": "10.0.0.0/24"}]})
    stub.on("GET", "/events?limit=5&newest=true", {"events": [EVENT | {"text": HOSTILE}]})
    for words in (("subnet", "list"), ("events", "--limit", "5")):
        out = evenkeel(*words).out
        assert r"lb\x1b[2J\r\u202e\n" in out
        assert all(character.isprintable() or character == "\n" for character in out)
    (row,) = json.loads(evenkeel("subnet", "list", "-f", "json").out)
    assert HOSTILE in row.values()


def test_events_are_the_newest(stub: Stub, evenkeel: Run) -> None:
    stub.on("GET", "/events?limit=5&newest=true", {"events": [EVENT]})
    assert "host-2 took over" in evenkeel("events", "--limit", "5").out


def test_following_prints_each_event_once_and_ends_with_the_interrupt(
    stub: Stub, evenkeel: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub.on("GET", "/events?limit=20&newest=true", {"events": [EVENT]})
    stub.on("GET", "/events?after=4&limit=1000", {"events": []}, {"events": [EVENT | {"id": 5, "text": "it is back"}]})
    stub.on("GET", "/events?after=5&limit=1000", {"events": []})
    waits = iter([None, None, None])

    def wait(seconds: float) -> None:
        if next(waits, "over") == "over":
            raise KeyboardInterrupt

    monkeypatch.setattr("evenkeel.cli.events.time.sleep", wait)
    ran = evenkeel("events", "--follow", "-f", "json")
    assert [json.loads(line)["id"] for line in ran.out.splitlines()] == [4, 5]
    assert ran.code == 130


def test_a_refusal_ends_with_1_and_the_servers_reason(stub: Stub, evenkeel: Run) -> None:
    stub.on("GET", f"/agents/{AGENT_ID}", {"faultcode": "Client", "faultstring": "Agent x not found."}, status=404)
    ran = evenkeel("agent", "show", AGENT_ID)
    assert ran.code == 1
    assert ran.err == "Agent x not found.\n"


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("no", "such", "command"),
        ("agent", "set", "host-1"),
        ("agent", "set", "host-1", "--enable", "--disable"),
        ("events", "--limit", "0"),
        ("subnet", "create", "web"),
    ],
)
def test_nonsense_ends_with_2(evenkeel: Run, words: tuple[str, ...]) -> None:
    assert evenkeel(*words).code == 2


def test_a_bad_endpoint_ends_with_2(evenkeel: Run) -> None:
    assert evenkeel("status", endpoint="somewhere").code == 2


def test_unreachable_endpoint_ends_with_exit_code_3(evenkeel: Run) -> None:
    ran = evenkeel("status", endpoint="http://127.0.0.1:1")
    assert ran.code == 3
    assert "Connection refused" in ran.err


def test_help_ends_with_0(evenkeel: Run) -> None:
    assert evenkeel("--help").code == 0


def test_events_of_one_user_have_the_user_and_the_address(stub: Stub, evenkeel: Run) -> None:
    who = {"user_name": "alice", "user_id": "u-1", "request_id": "req-1", "client_address": "192.0.2.7"}
    stub.on("GET", "/events?by=alice&limit=20&newest=true", {"events": [EVENT | who]})
    (row,) = json.loads(evenkeel("events", "--by", "alice", "-f", "json").out)
    assert {name: row[name] for name in who} == who
