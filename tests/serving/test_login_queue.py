import asyncio
import threading
from collections.abc import Callable

import pytest

from evenkeel.serving import login_queue
from evenkeel.serving.login_queue import OF_PEER_MAX, WAITING_MAX, LoginQueue, TooManyAttempts
from tests.waiting import eventually


class Gate:
    """Checks that stand still until they are let go, in the order in which they began."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.go_on = threading.Semaphore(0)

    def check(self, name: str, *, right: bool) -> Callable[[], bool]:
        def run() -> bool:
            self.begun.append(name)
            assert self.go_on.acquire(timeout=60)
            return right

        return run

    def ask(self, checks: LoginQueue, name: str, peer: str, *, right: bool = False) -> "asyncio.Task[bool]":
        return asyncio.create_task(checks.run_check(name.encode(), peer, self.check(name, right=right)))


async def outcome(task: "asyncio.Task[bool]") -> bool | str:
    try:
        return await task
    except TooManyAttempts:
        return "too many"


async def test_addresses_take_turns_and_each_has_few_places() -> None:
    gate, checks = Gate(), LoginQueue()
    flood = [gate.ask(checks, f"flood-{n}", "10.0.0.1") for n in range(OF_PEER_MAX + 5)]
    await eventually(lambda: len(gate.begun) == 1)
    await eventually(lambda: sum(task.done() for task in flood) == 5)
    honest = gate.ask(checks, "honest", "10.0.0.2", right=True)
    await asyncio.sleep(0)
    gate.go_on.release(3)
    assert await honest
    assert "honest" in gate.begun[:3]
    gate.go_on.release(100)
    assert [await outcome(task) for task in flood].count("too many") == 5


async def test_a_newcomer_takes_the_last_place_of_who_has_most() -> None:
    gate, checks = Gate(), LoginQueue()
    first = gate.ask(checks, "first", "10.0.0.99")
    await eventually(lambda: bool(gate.begun))
    peers = range(WAITING_MAX // OF_PEER_MAX)
    flood = [gate.ask(checks, f"{p}-{n}", f"10.0.0.{p}") for p in peers for n in range(OF_PEER_MAX)]
    await asyncio.sleep(0)
    honest = gate.ask(checks, "honest", "10.0.1.1", right=True)
    await asyncio.sleep(0)
    again = gate.ask(checks, "again", "10.0.1.1", right=True)
    await asyncio.sleep(0)
    gate.go_on.release(200)
    assert await honest and await again and not await first
    assert [await outcome(task) for task in flood].count("too many") == 2


async def test_address_with_a_wrong_password_waits_in_a_separate_queue() -> None:
    now = 0.0
    gate, checks = Gate(), LoginQueue(monotonic=lambda: now)
    wrong = gate.ask(checks, "wrong", "2001:db8::1")
    gate.go_on.release()
    assert not await wrong
    suspect = gate.ask(checks, "more", "2001:db8::2")  # of the same network
    honest = gate.ask(checks, "honest", "10.0.0.2", right=True)
    await eventually(lambda: len(gate.begun) == 3)  # both at once
    gate.go_on.release(2)
    assert await honest and not await suspect
    now += login_queue.SUSPECT_SECONDS * 2
    gate.ask(checks, "later", "2001:db8::2")
    gate.ask(checks, "other", "10.0.0.3")
    await eventually(lambda: gate.begun[3:] == ["later"])  # one after the other again
    gate.go_on.release(2)
    await eventually(lambda: len(gate.begun) == 5)


async def test_the_same_is_checked_once_also_for_those_that_stay_when_one_goes() -> None:
    gate, checks = Gate(), LoginQueue()
    asking = [gate.ask(checks, "same", f"10.0.0.{n}", right=True) for n in range(20)]
    await eventually(lambda: bool(gate.begun))
    asking[0].cancel()
    gate.go_on.release()
    assert all(await asyncio.gather(*asking[1:])) and gate.begun == ["same"]


async def test_memory_is_bounded_whatever_a_header_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(login_queue, "SUSPECTS_MAX", 10)
    checks = LoginQueue()
    for n in range(30):
        assert not await checks.run_check(b"%d" % n, f"{n}" + "x" * 10_000, lambda: False)
    held = vars(vars(checks)["_suspects"])["_until"]
    assert len(held) == 10 and max(map(len, held)) <= 64
    assert not vars(checks)["_attempts"]
