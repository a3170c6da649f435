"""Ids of requests."""

import asyncio

from evenkeel.core.kit.request_context import (
    PREFIX,
    REQUEST_IDS_MAX,
    begin_request,
    new_change_id,
    parse_request_ids,
    request_ids_for_devices,
    request_ids_of_device_write,
    request_ids_text,
    sql_statement_count,
)


async def test_a_request_gives_its_id_to_its_first_change_only():
    async def serve() -> tuple[str, str, str]:
        return begin_request(), new_change_id(), new_change_id()

    served = await asyncio.gather(*(asyncio.create_task(serve()) for _ in range(3)))
    for request_id, first, second in served:
        assert request_id == PREFIX + first
        assert second not in request_id
    assert len({request_id for request_id, *_ in served}) == 3


async def test_without_a_request_each_change_has_an_id_of_its_own():
    assert new_change_id() != new_change_id()
    assert sql_statement_count() == 0


async def test_ids_reach_the_tasks_that_write():
    async def write() -> str:
        await asyncio.sleep(0)
        return request_ids_of_device_write()

    with request_ids_for_devices("req-1"):
        assert await asyncio.gather(write(), asyncio.create_task(write())) == ["req-1", "req-1"]
    assert await write() == ""


def test_a_header_holds_a_bounded_number_and_what_is_no_id_is_dropped():
    ids = request_ids_text(["", *(f"{number:08}-0000-4000-8000-000000000000" for number in range(REQUEST_IDS_MAX + 5))])
    assert len(parse_request_ids(ids)) == REQUEST_IDS_MAX
    assert parse_request_ids("x\ny,req-" + "z" * 36 + "," + request_ids_text(["0" * 36])) == ("req-" + "0" * 36,)
    assert parse_request_ids("req-" + "0" * 36 + "," * 100_000) == ("req-" + "0" * 36,)
