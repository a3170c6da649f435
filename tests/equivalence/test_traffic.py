"""What differs only while a member is down at one site is no difference."""

import itertools
import math
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, cast

import pytest

from tests.equivalence import traffic
from tests.equivalence.requests import Answer, Clients, Request
from tests.equivalence.traffic import (
    REPEATS,
    Samples,
    _answer_differences,
    _lasting_share_differences,
    steady,
)

REQUESTS = [Request("listener", "10.1.0.1", 80, over_tls=False)] * 20
DISTURBED = 3 * REPEATS
"""Samples during which the members of one site are down; more than are taken of what does not change."""

Find = Callable[[Sequence[Clients], Samples], Awaitable[list[str]]]


class _Site:
    """Two members answer in turn, but none in the beginning: for so many samples, or looks at members' states."""

    def __init__(self, disturbed: float) -> None:
        self._disturbed = disturbed

    async def ask(self, request: Request) -> Answer:
        return (await self.ask_all([request]))[0]

    async def ask_all(self, requests: Sequence[Request]) -> list[Answer]:
        status, members = (503, ("",)) if self.disturbed() else (200, ("w1", "w2"))
        turns = zip(itertools.cycle(members), requests, strict=False)
        return [Answer((status,), by=by, tls=("", "", "", ""), heard=()) for by, _ in turns]

    def disturbed(self) -> bool:
        self._disturbed -= 1
        return self._disturbed >= 0


async def answers(sites: Sequence[Clients], samples: Samples) -> list[str]:
    return await _answer_differences(REQUESTS, [await each.ask_all(REQUESTS) for each in sites], sites, samples)


async def shares(sites: Sequence[Clients], samples: Samples) -> list[str]:
    first = [await each.ask_all(REQUESTS) for each in sites]
    return await _lasting_share_differences(REQUESTS, first, sites, {"listener": "ROUND_ROBIN"}, samples)


def beside_a_steady_one(site: _Site) -> Sequence[Clients]:
    return [cast("Clients", each) for each in (site, _Site(0))]


@pytest.mark.parametrize("find", [answers, shares])
async def test_samples_during_which_a_member_goes_up_and_down_are_repeated(find: Find) -> None:
    went_down = itertools.count()

    async def states() -> Any:
        return next(went_down)

    assert await find(beside_a_steady_one(_Site(DISTURBED)), Samples(states)) == []


@pytest.mark.parametrize("find", [answers, shares])
async def test_samples_wait_until_sites_agree_about_members(find: Find, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traffic, "LOOK_SECONDS", 0.0)
    site = _Site(DISTURBED)

    async def states() -> Any:
        return None if site.disturbed() else "up"

    assert await find(beside_a_steady_one(site), Samples(states)) == []


@pytest.mark.parametrize("find", [answers, shares])
@pytest.mark.parametrize("disturbed", [DISTURBED, math.inf])
async def test_samples_that_differ_while_members_are_steady_are_a_difference(find: Find, disturbed: float) -> None:
    assert len(await find(beside_a_steady_one(_Site(disturbed)), Samples(steady))) == 1


@pytest.mark.parametrize("find", [answers, shares])
async def test_samples_that_differ_are_a_difference_if_sites_never_agree_about_members(
    find: Find, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traffic, "AGREE_SECONDS", 0.0)

    async def states() -> Any:
        return None

    assert len(await find(beside_a_steady_one(_Site(math.inf)), Samples(states))) == 1
