"""Internal data groups: their records, and what a device refuses."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from emulator_tests.client import Client

GROUPS = "ltm/data-group/internal"


async def records(device: Client, kind: str, given: Any) -> Any:
    body = {"name": "g", "partition": "P", "type": kind, "records": given}
    shown = (await device.post(GROUPS, body)).get("records")
    await device.delete(f"{GROUPS}/~P~g")
    return shown


async def test_records_are_shown_in_the_order_and_form_of_their_type(device: Client) -> None:
    assert await records(device, "string", ["b", {"name": "a", "data": "1"}]) == [
        {"name": "a", "data": "1"}, {"name": "b", "data": ""},
    ]  # fmt: skip
    assert await records(device, "integer", {"10": {"data": "x"}, "9": {}}) == [
        {"name": "9", "data": ""}, {"name": "10", "data": "x"},
    ]  # fmt: skip
    networks = ["2001:db8::/32", "10.0.0.1", "9.0.0.0/8", "10.0.0.0%7/24"]
    shown = [record["name"] for record in await records(device, "ip", networks)]
    assert shown == ["9.0.0.0/8", "10.0.0.0%7/24", "10.0.0.1/32", "2001:db8::/32"]
    assert await records(device, "string", []) is None


@pytest.mark.parametrize(
    ("kind", "given", "status", "message"),
    [
        ("ip", ["10.0.0.300"], 400, "(/P/g) of type ip has an invalid record (10.0.0.300)"),
        ("ip", ["10.0.0.1/8"], 400, "(/P/g) of type ip has an invalid record (10.0.0.1/8)"),
        ("integer", ["ten"], 400, "(/P/g) of type integer has an invalid record (ten)"),
        ("text", ["a"], 400, 'invalid property value "type":"text"'),
        ("string", [{"data": "x"}], 400, '"name" may not be empty'),
        ("string", [{"name": "a", "dat": "x"}], 400, '"dat" unknown property'),
        ("string", ["a", "a"], 409, "01020066:3: The requested class string item (/P/g a) already exists in partition"),
        ("string", [["a"]], 400, "invalid property value"),
        ("string", [{"name": "a", "data": "x" * 65_521}], 400, "max:65520 received:65521"),
    ],
)  # fmt: skip
async def test_refused_records(device: Client, kind: str, given: Any, status: int, message: str) -> None:
    answer = await device.send("POST", GROUPS, {"name": "g", "partition": "P", "type": kind, "records": given})
    assert answer.status == status
    assert message in answer.message


async def test_single_records_are_edited(device: Client) -> None:
    body = {"name": "g", "partition": "P", "type": "ip", "records": ["10.0.0.1"]}
    await device.post(GROUPS, body)

    async def edit(text: str) -> tuple[int, str]:
        answer = await device.send("PATCH", f"{GROUPS}/~P~g?options={quote(text)}", {})
        known = answer.document.get("records", [])
        return answer.status, ",".join(f"{each['name']}={each['data']}" for each in known) or answer.text

    added = 'records add { 10.0.0.2 { data "a \\"b\\"" } 10.0.1.0/24 { } }'
    assert await edit(added) == (200, '10.0.0.1/32=,10.0.0.2/32=a "b",10.0.1.0/24=')
    assert await edit("records modify { 10.0.0.1/32 { data 2 } }") == (
        200, '10.0.0.1/32=2,10.0.0.2/32=a "b",10.0.1.0/24=',
    )  # fmt: skip
    assert await edit("records delete { 10.0.0.2 10.0.1.0/24 }") == (200, "10.0.0.1/32=2")
    assert (await edit("records delete { 10.0.0.2 }"))[0] == 404
    assert (await edit("records add { 10.0.0.1 { } }"))[0] == 409
    assert (await edit("records add { } } junk"))[0] == 400
    assert (await edit("records none"))[0] == 200
    assert "records" not in await device.get(f"{GROUPS}/~P~g")


async def test_a_group_in_use_by_a_rule_stays(device: Client) -> None:
    await device.post(GROUPS, {"name": "g", "partition": "P", "type": "string", "records": ["a"]})
    text = "when HTTP_REQUEST { if { [class match -- [HTTP::path] equals /P/g] } { reject } }"
    await device.post("ltm/rule", {"name": "r", "partition": "P", "apiAnonymous": text})
    refused = await device.send("DELETE", f"{GROUPS}/~P~g")
    said = "01070265:3: The value list (/P/g) cannot be deleted because it is in use by a rule (/P/r)."
    assert (refused.status, refused.message) == (400, said)
