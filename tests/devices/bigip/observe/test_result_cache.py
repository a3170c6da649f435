"""Answers of a device that are equal to the last ones are decoded and judged once."""

import json
from typing import Any

import pytest

from evenkeel.devices.bigip.icontrol import responses
from evenkeel.devices.bigip.icontrol.responses import CACHED_DOCUMENTS_MAX, DecodedDocumentCache, parse_document
from evenkeel.devices.bigip.observe import digest
from evenkeel.devices.bigip.observe.result_cache import ResultCache, reuse_equal_items
from tests.devices.bigip.rig import BigIpRig
from tests.devices.services import batch, listener, service


def test_a_result_is_kept_while_the_arguments_are_the_same_objects() -> None:
    calls: list[tuple[object, ...]] = []

    def judge(*arguments: object) -> int:
        calls.append(arguments)
        return len(calls)

    judged, one, other = ResultCache(), [1], [1]
    assert [judged.cached_result(judge, one, other), judged.cached_result(judge, one, other)] == [1, 1]
    assert judged.cached_result(judge, one, one) == 2, "equal, but another object"
    assert judged.cached_result(judge, one) == 3
    assert len(calls) == 3


def test_a_tuple_is_kept_if_all_its_objects_are_there_in_the_same_order() -> None:
    one, two = {"name": "a"}, {"name": "b"}
    before = (one, two)
    assert reuse_equal_items(before, [one, two]) is before
    for other in ([two, one], [one], [one, two, one], [one, {"name": "b"}]):
        assert reuse_equal_items(before, other) is not before
        assert reuse_equal_items(before, other) == tuple(other)


def test_equal_bytes_of_a_target_are_one_document_and_others_are_decoded() -> None:
    remembered = DecodedDocumentCache()
    first = remembered.decoded_document("/a", b'{"x": 1}')
    assert remembered.decoded_document("/a", b'{"x": 1}') is first
    assert remembered.decoded_document("/b", b'{"x": 1}') is not first
    assert remembered.decoded_document("/a", b'{"x": 2}') == {"x": 2}
    assert remembered.decoded_document("/a", b'{"x": 1}') == first
    assert remembered.decoded_document("/a", b"no document") == parse_document(b"no document") == {}


def test_no_more_documents_are_remembered_than_the_maximum() -> None:
    remembered = DecodedDocumentCache()
    for number in range(3 * CACHED_DOCUMENTS_MAX):
        assert remembered.decoded_document(f"/{number}", b"{}") == {}
        assert len(remembered._last) <= CACHED_DOCUMENTS_MAX


async def test_an_observation_of_a_device_at_rest_judges_nothing_and_sees_every_change(
    rig: BigIpRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = rig.owner()
    await agent.apply(batch(service(), complete=True))
    before = await agent.observe()
    judged: list[str] = []
    real = digest.load_balancer_digests

    def counted(*parts: Any) -> dict[str, str]:
        judged.append("again")
        return real(*parts)

    monkeypatch.setattr(digest, "load_balancer_digests", counted)
    first = await agent.observe()
    assert (await agent.observe()).configurations == first.configurations == before.configurations
    assert judged == ["again"], "once, because the function is another one now"
    monkeypatch.setattr(responses, "parse_document", lambda body: json.loads(body))
    await agent.apply(batch(service(revision=2, listeners=(listener(connection_limit=7),)), complete=True))
    changed = await agent.observe()
    assert changed.configurations != before.configurations
    assert judged == ["again", "again"]
