"""Items are worked on in batches: what arrives meanwhile is the next batch, and no load balancer is in two of them."""

from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from typing import Any

from evenkeel_octavia.batches import WorkBatches


class Held(Executor):
    """Executor that runs nothing until it is told to."""

    def __init__(self) -> None:
        self.held: list[Callable[[], Any]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.held.append(lambda: fn(*args, **kwargs))
        return Future()


class Rig:
    """Batches of up to two at once, and the batches that were worked on."""

    def __init__(self) -> None:
        self.now = 0.0
        self.done: list[Mapping[str, int]] = []
        self.threads = Held()
        self.batches = WorkBatches[int](
            self.done.append, self.threads, at_once=2, patience_seconds=1.0, now=lambda: self.now
        )


def test_items_that_arrive_while_a_batch_is_under_way_are_one_batch_after_it() -> None:
    rig = Rig()
    rig.batches.add({"a": 1})
    rig.batches.add({"b": 2})
    rig.batches.add({"c": 3})
    assert rig.batches.ids == {"a", "b", "c"} and len(rig.threads.held) == 1
    rig.threads.held[0]()
    assert rig.done == [{"a": 1}, {"b": 2, "c": 3}] and rig.batches.ids == frozenset()


def test_batch_that_takes_long_lets_others_begin_up_to_the_limit() -> None:
    rig = Rig()
    rig.batches.add({"a": 1})
    rig.now = 1.0
    rig.batches.add({"b": 2})
    rig.now = 2.0
    rig.batches.add({"c": 3})
    assert len(rig.threads.held) == 2
    rig.threads.held[1]()
    assert rig.done == [{"b": 2}, {"c": 3}] and rig.batches.ids == {"a"}


def test_load_balancer_whose_batch_is_under_way_waits_for_its_end() -> None:
    rig = Rig()
    rig.batches.add({"a": 1})
    rig.now = 1.0
    rig.batches.add({"a": 2, "b": 3})
    rig.threads.held[1]()
    assert rig.done == [{"b": 3}]
    rig.threads.held[0]()
    assert rig.done == [{"b": 3}, {"a": 1}, {"a": 2}]
