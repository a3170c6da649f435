"""What a device refuses in rules when it loads them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from emulator_tests.client import Backend, Client
from emulator_tests.test_traffic import site
from icontrol_emulator.irules.catalogue import COMMANDS
from icontrol_emulator.irules.check import BadRule, examine
from icontrol_emulator.irules.commands import DeviceCommands
from icontrol_emulator.irules.interpreter import TCL
from icontrol_emulator.irules.persistence import PersistRecords
from icontrol_emulator.irules.state import Flow

Start = Callable[..., Awaitable[Backend]]


def in_request(script: str) -> str:
    return f"when HTTP_REQUEST {{\n  {script}\n}}"


@pytest.mark.parametrize(
    ("rule", "line", "reason", "source"),
    [
        (in_request("frobnicate a"), 2, "undefined procedure: frobnicate", "frobnicate a"),
        (in_request("catch { frobnicate }"), 2, "undefined procedure: frobnicate", "frobnicate"),
        (in_request("set x 1\n  if { [frob] } { }"), 3, "undefined procedure: frob", "frob"),
        (in_request("if {1} {\n    pool p\n    bad x\n  }"), 4, "undefined procedure: bad", "bad x"),
        (in_request('switch -glob [HTTP::path] {\n    "/a*" { bad }\n  }'), 2, "undefined procedure: bad", "bad"),
        (in_request('set x "a [bad] b"'), 2, "undefined procedure: bad", "bad"),
        (in_request("if {1}"), 2, 'missing a script after "if"', "if {1}"),
        (in_request("if {1} { } else"), 2, 'missing a script after "else"', "if {1} { } else"),
        (in_request("if {1 +} { }"), 2, "parse error: syntax error in expression: premature end", "if {1 +} { }"),
        (in_request("expr {nothing(1)}"), 2, 'parse error: unknown math function "nothing"', "expr {nothing(1)}"),
        (in_request("exec ls"), 2, 'command is disabled: "exec"', "exec ls"),
        (in_request("AES::encrypt a b"), 2, "AES::encrypt is not supported by this emulator", "AES::encrypt a b"),
        (in_request("HTTP::status"), 2, "command is not valid in current event context (HTTP_REQUEST)", "HTTP::status"),
        ("when HTTP_RESPONSE { log local0. [HTTP::uri] }", 1,
         "command is not valid in current event context (HTTP_RESPONSE)", "HTTP::uri"),
        ("when CLIENT_ACCEPTED { HTTP::respond 200 }", 1,
         "command is not valid in current event context (CLIENT_ACCEPTED)", "HTTP::respond 200"),
        ("when NEVER { }", 1, "unknown event (NEVER)", "when NEVER"),
        ("when DNS_REQUEST { }", 1, "event DNS_REQUEST is not supported by this emulator", "when DNS_REQUEST"),
        ("when HTTP_REQUEST { }\nwhen HTTP_REQUEST { }", 2, "Duplicate event", "when HTTP_REQUEST"),
        ("when HTTP_REQUEST priority 1001 { }", 1, 'unexpected extra argument "1001"', "when HTTP_REQUEST"),
        (in_request("when HTTP_RESPONSE { }"), 2, "command is not valid in the current scope",
         "when HTTP_RESPONSE { }"),
        ("set x 1", 1, "command is not valid in the current scope", "set x 1"),
        (in_request("while {1} { } { }"), 2, 'wrong # args: should be "while test command"', "while {1} { } { }"),
        ("when HTTP_REQUEST {", 1, "parse error: missing close-brace", ""),
        (in_request('set x "a'), 1, "parse error: missing \"", ""),
    ],
)  # fmt: skip
def test_refused_rules(rule: str, line: int, reason: str, source: str) -> None:
    with pytest.raises(BadRule) as caught:
        examine(rule)
    assert (caught.value.line, caught.value.reason, caught.value.source) == (line, reason, source)


@pytest.mark.parametrize(
    "rule",
    [
        "",
        "# a rule\nwhen HTTP_REQUEST priority 0 timing on { }\nwhen HTTP_RESPONSE { [set x] a }",
        "priority 10\nproc p { a {b 1} } { return [expr {$a + $b}] }\nwhen HTTP_REQUEST { set x [call p 1] }",
        "when HTTP_REQUEST\n{\n  if {1}{ set a 1 }\n  else { set a 2 }\n}",
        in_request("if { ([HTTP::path] starts_with {/a}) and not ([HTTP::method] eq {GET}) } { drop; return }"),
        in_request("eval $x\n  $command a"),
        "when SERVER_CONNECTED { SCTP::respond [SCTP::client_port] }",
    ],
)
def test_accepted_rules(rule: str) -> None:
    examine(rule)


def test_commands_known_at_load_are_known_at_run(records: PersistRecords) -> None:
    commands = DeviceCommands(Flow(client=("", 0), local=("", 0), virtual=""), records=records)
    assert set(COMMANDS) - {"proc"} == set(commands.table) | set(TCL)


@pytest.fixture
def records() -> PersistRecords:
    class NoRecords:
        def look_up(self, asked: object) -> None:
            return None

        def add(self, asked: object) -> None:
            return None

        def delete(self, asked: object) -> None:
            return None

    return NoRecords()


async def refused(device: Client, text: str) -> str:
    answer = await device.send("POST", "ltm/rule", {"name": "r", "partition": "P", "apiAnonymous": text})
    assert answer.status == 400
    return answer.message


async def test_errors_name_rule_line_and_command(device: Client) -> None:
    said = "01070151:3: Rule [/P/r] error: /P/r:2: error: [undefined procedure: bad][bad x]"
    assert await refused(device, in_request("bad x")) == said
    assert (await refused(device, f"# {'x' * 65_520}")).startswith("01070712:3: Max string size exceeded")


async def test_objects_that_rules_name_exist(device: Client) -> None:
    place = "01070151:3: Rule [/P/r] error: Unable to find"
    assert await refused(device, in_request("pool q")) == f"{place} pool (q) referenced at line 2: [pool q]"
    text = "class match [HTTP::path] equals /P/g"
    said = f"{place} value_list (/P/g) referenced at line 2: [{text}]"
    assert await refused(device, in_request(f"if {{ [{text}] }} {{ }}")) == said
    transaction = await device.open_transaction()
    rule = {"name": "r", "partition": "P", "apiAnonymous": in_request("pool q; class lookup $x g; pool $y")}
    await device.send("POST", "ltm/rule", rule, transaction=transaction)
    await device.send("POST", "ltm/pool", {"name": "q", "partition": "P"}, transaction=transaction)
    group = {"name": "g", "partition": "P", "type": "string"}
    await device.send("POST", "ltm/data-group/internal", group, transaction=transaction)
    assert (await device.commit(transaction)).status == 200
    assert (await device.send("DELETE", "ltm/pool/~P~q")).status == 400


@pytest.mark.parametrize(
    ("event", "profiles", "wanted"),
    [
        ("HTTP_REQUEST_SEND", ["tcp"], "HTTP or FASTHTTP"),
        ("CLIENTSSL_HANDSHAKE", ["http"], "CLIENTSSL"),
        ("CLIENT_DATA", ["fastL4"], "TCP, UDP or SCTP"),
    ],
)
async def test_events_need_profiles(
    device: Client, backend: Start, event: str, profiles: list[str], wanted: str
) -> None:  # fmt: skip
    await device.post("ltm/rule", {"name": "r", "partition": "P", "apiAnonymous": f"when {event} {{ }}"})
    await site(device, [await backend("a")], profiles)
    answer = await device.send("PATCH", "ltm/virtual/~P~v", {"rules": ["/P/r"]})
    said = f"{event} event in rule (/P/r) requires an associated {wanted} profile on the virtual-server (/P/v)."
    assert (answer.status, answer.message) == (400, f"01071912:3: {said}")


async def test_a_rule_in_use_stays(device: Client, backend: Start) -> None:
    await device.post("ltm/rule", {"name": "r", "partition": "P", "apiAnonymous": in_request("")})
    await site(device, [await backend("a")], ["http"], rules=["r"])
    answer = await device.send("DELETE", "ltm/rule/~P~r")
    said = "01070265:3: The rule (/P/r) cannot be deleted because it is in use by a virtual server (/P/v)."
    assert (answer.status, answer.message) == (400, said)
