"""Local traffic policies: their life, what a device refuses, and what they do to traffic."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trustme

from emulator_tests.client import Answer, Backend, Client, exchange, fetch
from emulator_tests.test_tls_traffic import SecureMember
from emulator_tests.test_traffic import VIP, site, stats
from emulator_tests.tls_site import NEW, believing, client_ssl, get, https, run

Start = Callable[..., Awaitable[Backend]]
Body = dict[str, Any]


def rule(conditions: list[Body], actions: list[Body], name: str = "r1", ordinal: int = 1) -> Body:
    return {
        "name": name, "ordinal": ordinal,
        "conditions": [{"name": str(at), **each} for at, each in enumerate(conditions)],
        "actions": [{"name": str(at), **each} for at, each in enumerate(actions)],
    }  # fmt: skip


async def draft(device: Client, rules: list[Body], name: str = "l7", **more: Any) -> Answer:
    body = {"name": name, "partition": "P", "subPath": "Drafts", "rules": rules, **more}
    return await device.send("POST", "ltm/policy", body)


async def publish(device: Client, rules: list[Body], name: str = "l7", **more: Any) -> None:
    answer = await draft(device, rules, name, **more)
    assert answer.status == 200, answer
    await device.post("ltm/policy", {"command": "publish", "name": f"/P/Drafts/{name}"})


async def pool(device: Client, server: Backend, name: str = "q") -> None:
    await device.post("ltm/pool", {"name": name, "partition": "P", "members": [f"{server.host}:{server.port}"]})


def path(start: str, **more: Any) -> Body:
    return {"httpUri": True, "path": True, "startsWith": True, "values": [start], "request": True, **more}


TO_Q = {"forward": True, "select": True, "pool": "/P/q"}
REDIRECT = {"httpReply": True, "redirect": True, "location": "https://elsewhere.test/"}


# -- life


async def test_an_attached_policy_is_published_in_one_transaction_with_its_virtual_server(
    device: Client, backend: Start
) -> None:
    """Publishing replaces the policy where it is: it is not deleted and created anew."""
    await pool(device, await backend("b"))
    await publish(device, [rule([path("/b")], [TO_Q])])
    port = await site(device, [await backend("a")], ["http"], policies=["l7"])
    transaction = await device.open_transaction()
    await device.patch("ltm/policy/~P~l7", {"createDraft": True}, transaction=transaction)
    changed = {"rules": [rule([path("/c")], [TO_Q])]}
    await device.patch("ltm/policy/~P~Drafts~l7", changed, transaction=transaction)
    await device.post("ltm/policy", {"command": "publish", "name": "/P/Drafts/l7"}, transaction=transaction)
    await device.patch("ltm/virtual/~P~v", {"policies": ["l7"], "connectionLimit": 9}, transaction=transaction)
    answer = await device.commit(transaction)
    assert answer.status == 200, answer
    assert [(await fetch(VIP, port, each))[1] for each in ("/b", "/c")] == ["a", "b"]


async def test_marks_of_f5s_agent_are_taken_and_not_kept(device: Client, backend: Start) -> None:
    await pool(device, await backend("b"))
    await publish(device, [rule([path("/x", not_regex=True)], [TO_Q])])
    assert "not_regex" not in (await device.get("ltm/policy/~P~l7/rules/r1/conditions/0"))
    body = {"name": "i", "partition": "P", "apiAnonymous": "when CLIENT_ACCEPTED { }", "listener": "an-id"}
    assert "listener" not in await device.post("ltm/rule", body)


async def test_defaults_of_parts_are_shown(device: Client, backend: Start) -> None:
    await pool(device, await backend("b"))
    await publish(device, [rule([{"httpHost": True, "values": ["a.test"]}, path("/x", **{"not": True})], [TO_Q])])
    shown = await device.get("ltm/policy/~P~l7?expandSubcollections=true")
    assert (shown["kind"], shown["status"], shown["references"]) == ("tm:ltm:policy:policystate", "published", {})
    assert (shown["controls"], shown["requires"]) == (["forwarding"], ["http"])
    [shown_rule] = shown["rulesReference"]["items"]
    first, second = shown_rule["conditionsReference"]["items"]
    link = "https://localhost/mgmt/tm/ltm/policy/~P~l7/rules/r1/conditions/0?ver=16.1.2"
    generations = {first.pop("generation"), second.pop("generation")}
    assert len(generations) == 2
    assert first == {
        "kind": "tm:ltm:policy:rules:conditions:conditionsstate", "name": "0", "fullPath": "0", "selfLink": link,
        "all": True, "caseInsensitive": True, "equals": True, "external": True, "httpHost": True, "index": 0,
        "present": True, "remote": True, "request": True, "values": ["a.test"],
    }  # fmt: skip
    assert (second["not"], second["startsWith"]) == (True, True)
    [action] = shown_rule["actionsReference"]["items"]
    numbers = ("code", "expirySecs", "length", "offset", "port", "status", "timeout", "vlanId")
    assert {name: action[name] for name in numbers} == dict.fromkeys(numbers, 0)
    assert (action["forward"], action["select"], action["request"]) == (True, True, True)
    assert action["poolReference"] == {"link": "https://localhost/mgmt/tm/ltm/pool/~P~q?ver=16.1.2"}


async def test_published_policies_are_not_edited(device: Client) -> None:
    await publish(device, [rule([path("/x")], [REDIRECT])])
    direct = "01071abb:3: Cannot create/modify published policy '/P/l7' directly, try specifying a draft folder like "
    for answer in (
        await device.send("PATCH", "ltm/policy/~P~l7", {"description": "x"}),
        await device.send("PATCH", "ltm/policy/~P~l7/rules/r1", {"ordinal": 2}),
        await device.send("POST", "ltm/policy/~P~l7/rules", {"name": "r2"}),
        await device.send("DELETE", "ltm/policy/~P~l7/rules/r1"),
    ):
        assert (answer.status, answer.message) == (400, f"{direct}'/P/Drafts/l7'.")
    exists = (
        '01070734:3: Configuration error: Published policy "/P/l7" exists, use create-draft to create a draft copy .'
    )
    assert (await draft(device, [])).message == exists
    await device.patch("ltm/policy/~P~l7", {"createDraft": True})
    assert (await device.send("PATCH", "ltm/policy/~P~l7", {"createDraft": True})).status == 409
    await device.post("ltm/policy/~P~Drafts~l7/rules", {"name": "r2", "ordinal": 2})
    assert len((await device.get("ltm/policy/~P~l7/rules"))["items"]) == 1
    await device.post("ltm/policy", {"command": "publish", "name": "/P/Drafts/l7"})
    assert len((await device.get("ltm/policy/~P~l7/rules"))["items"]) == 2


async def test_a_draft_is_made_and_published_in_one_transaction(device: Client) -> None:
    transaction = await device.open_transaction()
    body = {"name": "l7", "partition": "P", "subPath": "Drafts", "rules": [rule([path("/x")], [REDIRECT])]}
    await device.send("POST", "ltm/policy", body, transaction=transaction)
    publishing = {"command": "publish", "name": "/P/Drafts/l7"}
    await device.send("POST", "ltm/policy", publishing, transaction=transaction)
    assert (await device.commit(transaction)).status == 200
    assert (await device.get("ltm/policy/~P~l7"))["status"] == "published"
    assert (await device.send("GET", "ltm/policy/~P~Drafts~l7")).status == 404


# -- refusals

PLACE = "Policy '/P/Drafts/l7', rule 'r1'; "


@pytest.mark.parametrize(
    ("conditions", "actions", "message"),
    [
        ([{"values": ["x"]}], [], f"01071706:3: {PLACE}missing operand."),
        ([], [{"redirect": True}], f"0107186c:3: {PLACE}missing or invalid target."),
        ([{"sslExtension": True, "request": True, "values": ["a"]}], [],
         f"010716ff:3: {PLACE}operand 'ssl-extension' is not available during event 'request'."),
        ([path("/x", request=None, response=True)], [],
         f"010716ff:3: {PLACE}operand 'http-uri' is not available during event 'response'."),
        ([{"httpStatus": True, "code": True, "values": ["404"]}], [REDIRECT],
         f"010716e2:3: {PLACE}defines an action which occurs before one of its conditions."),
        ([path("/x")], [{**TO_Q, "connection": True}], '"select" may not be specified with "connection"'),
        ([path("/x", httpHost=True)], [], '"http-uri" may not be specified with "http-host"'),
        ([{"httpHeader": True, "tmName": "X"}], [],
         "01070734:3: Configuration error: Operand 'http-header' with condition 'equals' requires at least 1 value"),
        ([{"tcp": True, "values": ["10.0.0.300"]}], [],
         f"01070734:3: {PLACE}value '10.0.0.300' is not valid for operand 'tcp'."),
        ([{"geoip": True, "values": ["DE"]}], [], f"01070734:3: {PLACE}'geoip' is not supported by this emulator."),
        ([{"httpMethodd": True, "values": ["GET"]}], [], '"httpMethodd" unknown property'),
        ([], [{"asm": True, "enable": True, "policy": "/P/a"}],
         f"01070734:3: {PLACE}'asm' is not supported by this emulator."),
        ([], [{**TO_Q, "pool": "/P/none"}], "01020036:3: The requested Pool (/P/none) was not found."),
    ],
)  # fmt: skip
async def test_refused_rules(device: Client, conditions: list[Body], actions: list[Body], message: str) -> None:
    answer = await draft(device, [rule(conditions, actions)])
    assert (answer.message, answer.status) == (message, 404 if "not found" in message else 400)


async def test_refused_lists_of_rules(device: Client) -> None:
    same = await draft(device, [rule([], [REDIRECT]), rule([], [REDIRECT], ordinal=2)])
    assert (same.status, same.message) == (
        409, "01020066:3: The requested policy rule (/P/Drafts/l7 r1) already exists in partition P."
    )  # fmt: skip
    negative = await draft(device, [rule([], [REDIRECT], ordinal=-1)])
    assert (negative.status, negative.message) == (400, 'invalid property value "ordinal":"-1"')


async def test_pool_in_use_by_a_policy_cannot_be_deleted(device: Client, backend: Start) -> None:
    await pool(device, await backend("b"))
    await publish(device, [rule([path("/x")], [TO_Q])])
    refused = await device.send("DELETE", "ltm/pool/~P~q")
    said = "01070265:3: The Pool (/P/q) cannot be deleted because it is in use by a policy action (/P/l7 r1 0)."
    assert (refused.status, refused.message) == (400, said)
    await site(device, [await backend("a")], ["http"], policies=["l7"])
    refused = await device.send("DELETE", "ltm/policy/~P~l7")
    said = "01070635:3: The policy (/P/l7) is referenced by one or more virtuals."
    assert (refused.status, refused.message) == (400, said)


async def test_a_virtual_server_needs_the_profiles_of_its_policies(device: Client, backend: Start) -> None:
    await publish(device, [rule([path("/x")], [REDIRECT])])
    await site(device, [await backend("a")], ["tcp"])
    refused = await device.send("PATCH", "ltm/virtual/~P~v", {"policies": ["/P/l7"]})
    said = "010716d9:3: Virtual server /P/v requires a profile of type http or fasthttp for ltm policy /P/l7."
    assert (refused.status, refused.message) == (400, said)


# -- traffic


@pytest.mark.parametrize(
    ("condition", "hits", "misses"),
    [
        (path("/X"), ["/x", "/xy?z"], ["/y/x"]),
        (path("/X", caseSensitive=True), ["/X"], ["/x"]),
        (path("/x", **{"not": True}), ["/y"], ["/x"]),
        ({"httpUri": True, "path": True, "endsWith": True, "values": [".gif", ".png"]}, ["/a.png"], ["/a.js?b=.png"]),
        ({"httpUri": True, "extension": True, "values": ["jpg"]}, ["/a.b.jpg?x=.y"], ["/jpg", "/a.jpg/b"]),
        ({"httpUri": True, "queryString": True, "contains": True, "values": ["a=1"]}, ["/?b=2&a=1"], ["/a=1"]),
        ({"httpUri": True, "queryParameter": True, "tmName": "a", "values": ["1"]}, ["/?b=2&a=1"], ["/?a=11"]),
        ({"httpUri": True, "pathSegment": True, "index": 2, "values": ["b"]}, ["/a/b/c"], ["/b/a", "/b"]),
        ({"httpUri": True, "values": ["/a?b"]}, ["/a?b"], ["/a"]),
        ({"httpHost": True, "host": True, "values": ["test"]}, ["/"], []),
        ({"httpHost": True, "host": True, "values": ["other"]}, [], ["/"]),
        ({"httpHeader": True, "tmName": "x-a", "values": ["1"]}, ["/ X-A: 1"], ["/ X-A: 2", "/"]),
        ({"httpHeader": True, "tmName": "x-a", "exists": True}, ["/ X-A: 1"], ["/"]),
        ({"httpCookie": True, "tmName": "c", "values": ["1"]}, ["/ Cookie: b=2; c=1"], ["/ Cookie: c=2", "/"]),
        ({"httpMethod": True, "values": ["GET"]}, ["/"], []),
        ({"tcp": True, "address": True, "matches": True, "values": ["127.0.0.0/8"]}, ["/"], []),
        ({"tcp": True, "address": True, "matches": True, "values": ["127.0.9.0/24"], "local": True}, [], ["/"]),
        ({"httpHost": True, "host": True, "datagroup": "hosts"}, ["/"], []),
        ({"tcp": True, "address": True, "datagroup": "/Common/private_net"}, [], ["/"]),
    ],
)  # fmt: skip
async def test_conditions(
    device: Client, backend: Start, condition: Body, hits: list[str], misses: list[str]
) -> None:  # fmt: skip
    await pool(device, await backend("hit"))
    records = [{"name": "test"}]
    await device.post("ltm/data-group/internal", {"name": "hosts", "partition": "P", "type": "string",
                                                  "records": records})  # fmt: skip
    if condition.get("datagroup") == "hosts":
        condition = {**condition, "datagroup": "/P/hosts"}
    await publish(device, [rule([condition], [TO_Q])])
    port = await site(device, [await backend("miss")], ["http"], policies=["l7"])
    for wanted, requests in (("hit", hits), ("miss", misses)):
        for each in requests:
            uri, _, header = each.partition(" ")
            headers = dict([header.split(": ", 1)]) if header else {}
            assert (await fetch(VIP, port, uri, **headers))[1] == wanted, each


async def test_the_first_rule_that_matches_counts_and_conditions_are_all_needed(device: Client, backend: Start) -> None:
    await pool(device, await backend("q"))
    rules = [
        rule([path("/a"), {"httpHost": True, "values": ["other"]}], [REDIRECT], "both", 1),
        rule([path("/a")], [TO_Q], "first", 2),
        rule([path("/a")], [REDIRECT], "never", 3),
        rule([], [{"httpHeader": True, "insert": True, "tmName": "X-Rest", "value": "1"}], "rest", 4),
    ]
    server = await backend("own")
    await publish(device, rules)
    port = await site(device, [server], ["http"], policies=["l7"])
    reader, writer = await asyncio.open_connection(VIP, port)
    assert [(await exchange(reader, writer, uri))[1] for uri in ("/b", "/a", "/b")] == ["own", "q", "own"]
    assert "\r\nX-Rest: 1\r\n" in server.last_head
    writer.close()


async def test_all_matching_rules_act(device: Client, backend: Start) -> None:
    def header(name: str) -> Body:
        return {"httpHeader": True, "insert": True, "tmName": name, "value": "1"}

    server = await backend("a")
    rules = [rule([path("/")], [header("X-A")], "a", 1), rule([], [header("X-B")], "b", 2)]
    await publish(device, rules, strategy="/Common/all-match")
    port = await site(device, [server], ["http"], policies=["l7"])
    await fetch(VIP, port)
    assert {"X-A: 1", "X-B: 1"} <= set(server.last_head.split("\r\n"))


async def test_the_closest_rule_acts(device: Client, backend: Start) -> None:
    await pool(device, await backend("q"))
    rules = [rule([path("/a")], [REDIRECT], "short", 1), rule([path("/abc")], [TO_Q], "long", 2)]
    await publish(device, rules, strategy="/Common/best-match")
    port = await site(device, [await backend("own")], ["http"], policies=["l7"])
    assert (await fetch(VIP, port, "/abcd"))[1] == "q"
    assert "302 Found" in (await fetch(VIP, port, "/ab"))[0]


async def test_redirects(device: Client, backend: Start) -> None:
    tcl = {"httpReply": True, "redirect": True, "location": "tcl:https://[HTTP::host][HTTP::uri]", "code": 307}
    plain = {"httpReply": True, "redirect": True, "location": "https://x.test/[HTTP::uri]"}
    await publish(device, [rule([path("/t")], [tcl], "t", 1), rule([path("/p")], [plain], "p", 2)])
    port = await site(device, [await backend("a")], ["http"], policies=["l7"])
    head, _ = await fetch(VIP, port, "/t?a=b")
    assert head.startswith("HTTP/1.1 307 Temporary Redirect\r\nLocation: https://test/t?a=b\r\nServer: BigIP\r\n")
    head, _ = await fetch(VIP, port, "/p")
    assert "\r\nLocation: https://x.test/[HTTP::uri]\r\n" in head


async def test_messages_are_rewritten(device: Client, backend: Start) -> None:
    server = await backend("a")
    actions: list[Body] = [
        {"httpUri": True, "replace": True, "path": "tcl:/v2[HTTP::path]"},
        {"httpHost": True, "replace": True, "value": "inner.test"},
        {"httpHeader": True, "replace": True, "tmName": "X-Old", "value": "tcl:[IP::client_addr]"},
        {"httpHeader": True, "remove": True, "tmName": "X-Secret"},
        {"httpCookie": True, "insert": True, "tmName": "c", "value": "1"},
        {"httpHeader": True, "insert": True, "tmName": "X-Policy", "value": "l7", "response": True},
        {"httpSetCookie": True, "insert": True, "tmName": "s", "value": "2", "path": "/", "response": True},
    ]
    await publish(device, [rule([path("/x")], actions)])
    port = await site(device, [server], ["http"], policies=["l7"])
    head, _ = await fetch(VIP, port, "/x?q=1", **{"X-Old": "no", "X-Secret": "s", "Cookie": "a=0"})
    lines = server.last_head.split("\r\n")
    assert lines[0] == "GET /v2/x?q=1 HTTP/1.1"
    assert {"Host: inner.test", "X-Old: 127.0.0.1", "Cookie: a=0; c=1"} <= set(lines)
    assert "X-Secret" not in server.last_head
    assert {"X-Policy: l7", "Set-Cookie: s=2; path=/"} <= set(head.split("\r\n"))
    head, _ = await fetch(VIP, port, "/other")
    assert "X-Policy" not in head


async def test_responses_are_matched(device: Client, backend: Start) -> None:
    server = await backend("a")
    server.status = "404 Not Found"
    missing = {"httpStatus": True, "code": True, "values": ["404"], "response": True}
    await publish(device, [rule([missing], [{**REDIRECT, "response": True}])])
    port = await site(device, [server], ["http"], policies=["l7"])
    assert "302 Found" in (await fetch(VIP, port))[0]
    server.status = "200 OK"
    assert (await fetch(VIP, port))[1] == "a"


async def test_resets(device: Client, backend: Start) -> None:
    await publish(device, [rule([path("/x")], [{"forward": True, "reset": True}])])
    port = await site(device, [await backend("a")], ["http"], policies=["l7"])
    assert (await fetch(VIP, port))[1] == "a"
    with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
        await fetch(VIP, port, "/x")


async def test_nodes_and_other_virtual_servers_are_chosen(device: Client, backend: Start) -> None:
    other = await backend("node", "127.0.0.3")
    await device.post("ltm/node", {"name": "n", "partition": "P", "address": "127.0.0.3"})
    await site(device, [await backend("behind")], ["http"])
    rules = [
        rule([path("/n")], [{"forward": True, "node": "/P/n", "port": other.port}], "n", 1),
        rule([path("/v")], [{"forward": True, "virtual": "/P/v"}], "v", 2),
        rule([path("/self")], [{"forward": True, "virtual": "/P/w"}], "self", 3),
    ]
    port = free = (await device.get("ltm/virtual/~P~v"))["destination"].rpartition(":")[2]
    body = {"name": "w", "partition": "P", "destination": f"127.0.8.2:{free}", "profiles": ["http"]}
    await device.post("ltm/virtual", body)
    await publish(device, rules)
    await device.patch("ltm/virtual/~P~w", {"policies": ["l7"]})
    assert (await fetch("127.0.8.2", int(port), "/n"))[1] == "node"
    assert (await fetch("127.0.8.2", int(port), "/v"))[1] == "behind"
    with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
        await fetch("127.0.8.2", int(port), "/self")
    # the two before came from clients; a connection is passed on eight times at most
    assert (await stats(device, "ltm/virtual/~P~w"))["clientside.totConns"] == 2 + 1 + 8


async def test_policies_come_before_rules_of_the_same_event(device: Client, backend: Start) -> None:
    text = 'when HTTP_REQUEST { if { [HTTP::header exists X-P] } { HTTP::respond 200 content "rule" } }'
    await device.post("ltm/rule", {"name": "r", "partition": "P", "apiAnonymous": text})
    mark = {"httpHeader": True, "insert": True, "tmName": "X-P", "value": "1"}
    await publish(device, [rule([path("/x")], [mark])])
    port = await site(device, [await backend("a")], ["http"], policies=["l7"], rules=["r"])
    assert [(await fetch(VIP, port, uri))[1] for uri in ("/x", "/y")] == ["rule", "a"]


async def test_policies_before_the_first_request(device: Client, backend: Start) -> None:
    await pool(device, await backend("q"))
    near = {"tcp": True, "address": True, "matches": True, "values": ["127.0.0.0/8"], "clientAccepted": True}
    await publish(device, [rule([near], [{**TO_Q, "clientAccepted": True}])])
    port = await site(device, [await backend("own")], ["tcp"], policies=["l7"])
    assert (await fetch(VIP, port))[1] == "q"


async def test_server_names_choose_the_pool_also_over_http2(device: Client, backend: Start) -> None:
    await pool(device, await backend("q"))
    named = {"sslExtension": True, "serverName": True, "values": ["b.test"], "sslClientHello": True}
    drop = {"httpReply": True, "redirect": True, "location": "/over"}
    rules = [
        rule([named], [{**TO_Q, "sslClientHello": True}], "n", 1),
        rule([path("/old"), {"clientSsl": True, "protocol": True, "values": ["TLSv1.3"]}], [drop], "o", 2),
    ]
    await publish(device, rules)
    leaf = trustme.CA().issue_cert("a.test", "b.test", key_type=trustme.KeyType.RSA)
    profile = await client_ssl(device, "site", leaf, renegotiation="disabled", **NEW)
    port = await https(device, [await backend("own")], ["http", "http2", profile], policies=["l7"])
    assert [await get(port, believing(), name) for name in ("a.test", "b.test")] == ["own", "q"]
    url = f"https://127.0.8.9:{port}"
    assert (await run("curl", "-ksS", "--http2", f"{url}/x")).text == "own"
    assert "location: /over" in (await run("curl", "-ksSi", "--http2", f"{url}/old")).text.lower()


async def test_server_names_choose_the_pool_of_connections_whose_tls_is_passed_through(device: Client) -> None:
    authority = trustme.CA()
    own, other = (SecureMember(name, authority.issue_cert(f"{name}.test")) for name in ("own", "other"))
    for member in (own, other):
        await member.start()
    await device.post("ltm/pool", {"name": "q", "partition": "P", "members": [f"127.0.0.1:{other.port}"]})
    named = {"sslExtension": True, "serverName": True, "endsWith": True, "values": ["b.test"], "sslClientHello": True}
    await publish(device, [rule([named], [{**TO_Q, "sslClientHello": True}])])
    await device.post("ltm/persistence/ssl", {"name": "by_session", "partition": "P"})
    port = await https(device, [own], ["tcp"], persist=["by_session"], policies=["l7"])
    assert [await get(port, believing(), name) for name in ("a.test", "www.b.test")] == ["own", "other"]
    for member in (own, other):
        await member.stop()
