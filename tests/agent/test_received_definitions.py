"""A definition that came with a hint is applied only if nothing of its load balancer is known: hints may be late."""

from typing import Any

import pytest
from msgspec.structs import replace

from evenkeel.agent import received_definitions
from evenkeel.agent.received_definitions import ReceivedDefinitions
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.protocol.messages import InlinedDefinitions
from tests.agent.fakes import VIP


def service(load_balancer_id: str, revision: int = 1) -> ServiceDefinition:
    return ServiceDefinition(load_balancer_id=load_balancer_id, project_id="t", revision=revision, vip=VIP)


def carried(*ids: str, **other: Any) -> InlinedDefinitions:
    return replace(InlinedDefinitions(session_id="s", epoch=3, history="h", services=tuple(map(service, ids))), **other)


def of_first_worker() -> ReceivedDefinitions:
    return ReceivedDefinitions("s", 3, first=True)


def test_a_definition_of_an_unknown_load_balancer_is_taken_once() -> None:
    kept = of_first_worker()
    kept.offer(carried("lb-1", "lb-2"), queued=())
    assert kept.take(("lb-1", "lb-3"), "h") == (service("lb-1"),)
    kept.offer(carried("lb-1", "lb-3"), queued=())  # delivered again
    assert kept.take(("lb-1", "lb-3"), "h") == ()
    assert kept.take(("lb-2",), "h") == (service("lb-2"),)


@pytest.mark.parametrize("other", [{"session_id": "former"}, {"epoch": 2}, {"epoch": 4}, {"history": "lost"}])
def test_one_of_another_session_epoch_or_history_is_void(other: dict[str, Any]) -> None:
    kept = of_first_worker()
    kept.offer(carried("lb-1", **other), queued=())
    assert kept.take(("lb-1",), "h") == ()


def test_one_that_the_worker_has_requested_meanwhile_is_not_taken() -> None:
    kept = of_first_worker()
    kept.offer(carried("lb-1"), queued=())
    kept.mark_known(["lb-1"])
    assert kept.take(("lb-1",), "h") == ()


def test_definition_of_a_queued_load_balancer_is_not_taken() -> None:
    kept = of_first_worker()
    kept.offer(carried("lb-1"), queued={"lb-1"})
    assert kept.take(("lb-1",), "h") == ()


def test_a_change_or_a_doubt_drops_it() -> None:
    kept = of_first_worker()
    kept.offer(carried("lb-1"), queued=())
    kept.discard(["lb-1", "lb-9"])
    assert kept.take(("lb-1",), "h") == ()


def test_a_worker_that_came_later_knows_too_little() -> None:
    kept = ReceivedDefinitions("s", 3, first=False)
    kept.offer(carried("lb-1"), queued=())
    assert kept.take(("lb-1",), "h") == ()


def test_memory_is_limited_and_without_it_none_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(received_definitions, "SEEN_MAX", 3)
    monkeypatch.setattr(received_definitions, "WAITING_MAX", 2)
    kept = of_first_worker()
    kept.offer(carried("lb-1", "lb-2", "lb-3"), queued=())
    assert kept.take(("lb-1", "lb-2", "lb-3"), "h") == (service("lb-1"), service("lb-2"))
    kept.offer(carried("lb-4"), queued=())
    kept.mark_known(["lb-5"])
    assert kept.take(("lb-4",), "h") == ()
    kept.offer(carried("lb-1"), queued=())
    assert kept.take(("lb-1",), "h") == ()


def test_all_definitions_of_a_new_shard_are_taken_once() -> None:
    kept = of_first_worker()
    kept.offer_all(carried("lb-1", "lb-2"), of=("lb-2", "lb-1"))
    assert kept.take_all("h") == (service("lb-1"), service("lb-2"))
    assert kept.take_all("h") is None


@pytest.mark.parametrize("other", [{"session_id": "former"}, {"epoch": 2}, {"history": "lost"}])
def test_definitions_of_a_new_shard_are_void_in_another_session_epoch_or_history(other: dict[str, Any]) -> None:
    kept = of_first_worker()
    kept.offer_all(carried("lb-1", **other), of=("lb-1",))
    assert kept.take_all("h") is None


def test_some_of_a_new_shard_are_not_all() -> None:
    kept = of_first_worker()
    kept.offer_all(carried("lb-1"), of=("lb-1", "lb-2"))
    assert kept.take_all("h") is None


def test_whatever_happens_before_the_first_pass_drops_them() -> None:
    kept = of_first_worker()
    kept.offer_all(carried("lb-1"), of=("lb-1",))
    kept.discard(("lb-2",))
    assert kept.take_all("h") is None


def test_a_later_worker_of_the_shard_requests_them() -> None:
    kept = ReceivedDefinitions("s", 3, first=False)
    kept.offer_all(carried("lb-1"), of=("lb-1",))
    assert kept.take_all("h") is None
