"""What clients and members see at two sites, and where it is not the same."""

import ast
import asyncio
import math
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from evenkeel.core.devices.service import ServiceDefinition, ServiceListener
from evenkeel.core.resources.model import DATAGRAM_PROTOCOLS
from tests.equivalence import definitions as d
from tests.equivalence.challenges import requests_for_challenges
from tests.equivalence.requests import Answer, Clients, Request, heard_as, requests_to
from tests.equivalence.site import Site
from tests.equivalence.websites import NUMBER, Heard

REQUESTS = 100
"""Plain requests of one trial, to all its listeners."""
SPREAD_MIN = 8
"""Of them to each listener."""
AGREE_SECONDS, LOOK_SECONDS = 60.0, 0.05
"""How long devices may take to agree: on a busy machine checks time out, so that a member is down for a while."""
CHECK_WINDOW_SECONDS = 0.5
"""Twice as long as between two checks of one member, at least: they are ten times as often as monitors say."""
REPEATS = 8
SHARE_REPEATS = 4
RANDOM_HASH = "SOURCE_IP_PORT"
BOUND_AT_RANDOM = "bound at random"
HASHES = ("SOURCE_IP", RANDOM_HASH)
SHARE_TOLERANCE = 0.1
"""Of requests: how far shares of members may differ, for both devices begin their turns elsewhere."""


States = Callable[[], Awaitable[Any]]
"""Reads the members' states, and how often each went down, at both sites; None while the sites differ."""


async def steady() -> bool:
    """The states of members at sites that show none: they do not change."""
    return True


class Samples:
    """Takes samples of what clients get, and counts those for which all members were in the same states at both sites
    all the time; after :data:`AGREE_SECONDS` from now on it counts all."""

    def __init__(self, states: States) -> None:
        self._states = states
        self._loop = asyncio.get_running_loop()
        self._deadline = self._loop.time() + AGREE_SECONDS

    @property
    def _is_late(self) -> bool:
        return self._loop.time() > self._deadline

    async def are_good(self, sample: Callable[[], Awaitable[bool]], times: int) -> bool:
        """Whether a sample is good before so many ``times`` it was not."""
        before = await self._states()
        while times:
            if before is None and not self._is_late:
                await asyncio.sleep(LOOK_SECONDS)
                before = await self._states()
                continue
            if await sample():
                return True
            after = await self._states()
            if before == after or self._is_late:
                times -= 1
            before = after
        return False


async def check_differences(old: Site, new: Site) -> list[str]:
    """What members' ports hear of checks, in a time in which each is checked."""
    last: list[str] = []

    async def agree() -> bool:
        for site in (old, new):
            site.forget()
        await asyncio.sleep(CHECK_WINDOW_SECONDS)
        last[:] = different(_checks(old), _checks(new))
        return not last

    await within(AGREE_SECONDS / 2, agree)
    return last


async def traffic_differences(
    trees: Iterable[ServiceDefinition],
    old: Site,
    new: Site,
    folder: Path,
    states: States = steady,
    *,
    hashes_members: bool = False,
) -> list[str]:
    """The answers to all requests for which some setting may matter, and how plain ones are shared by members. On a
    busy machine checks time out, so that a member is down for a while at one site: what is asked meanwhile is asked
    again.

    ``hashes_members``: the device chooses a client's member by a hash over members' real addresses, which are not the
    same at both sites; how such clients are shared is not compared."""
    trees = list(trees)
    # What the kernel does with datagrams follows from its rules, which are compared. A client that it binds at random
    # may be bound to a dead member at one site, and it tries no other one.
    listeners = [
        (tree, one)
        for tree in trees
        for one in tree.listeners
        if one.protocol not in DATAGRAM_PROTOCOLS and _algorithm(tree, one) != BOUND_AT_RANDOM
    ]
    requests: list[Request] = []
    for tree, one in listeners:
        requests += requests_to(tree, one, spread=max(SPREAD_MIN, REQUESTS // len(listeners)))
    requests += [one for tree in trees for one in requests_for_challenges(tree)]
    clients = [Clients(site, folder / name) for site, name in ((old, "old"), (new, "new"))]
    samples = Samples(states)
    answers = await asyncio.gather(*(each.ask_all(requests) for each in clients))
    shared = {one.id: _algorithm(tree, one) for tree, one in listeners}
    if hashes_members:
        shared = {name: algorithm for name, algorithm in shared.items() if algorithm not in HASHES}
    return [
        *await _answer_differences(requests, answers, clients, samples),
        *await _lasting_share_differences(requests, answers, clients, shared, samples),
    ]


def _algorithm(tree: ServiceDefinition, listener: ServiceListener) -> str:
    """By which the listener's default pool chooses members; empty without one. The kernel's turns are random."""
    pool = next((one for one in tree.pools if one.id == listener.default_pool_id), None)
    if pool is None or tree.data_path != "kernel" or pool.lb_algorithm == "SOURCE_IP":
        return pool.lb_algorithm if pool else ""
    return BOUND_AT_RANDOM if pool.session_persistence else RANDOM_HASH


async def _answer_differences(
    requests: Sequence[Request], answers: Sequence[Sequence[Answer]], clients: Sequence[Clients], samples: Samples
) -> list[str]:
    """Requests that get other answers at the new site. Where members answer differently, a request may get any of
    their answers; so it is repeated until both sites have given the same one."""
    found = []
    for request in dict.fromkeys(requests):
        seen = [
            {_comparable(answer) for one, answer in zip(requests, each, strict=True) if one == request}
            for each in answers
        ]
        if not seen[0] & seen[1] and not await samples.are_good(partial(_meet, request, seen, clients), REPEATS):
            found.append(f"{request}: {_told(seen[0], seen[1])}, the new one: {_told(seen[1], seen[0])}")
    return found


async def _meet(request: Request, seen: Sequence[set[Answer]], clients: Sequence[Clients]) -> bool:
    """Ask once more; whether both sites have given the same answer by now."""
    for each, its in zip(clients, seen, strict=True):
        its.add(_comparable(await each.ask(request)))
    return bool(seen[0] & seen[1])


def _comparable(answer: Answer) -> Answer:
    """The answer with its pool in the place of its member."""
    return answer._replace(by=_group(answer.by))


def _told(some: set[Answer], others: set[Answer]) -> dict[str, Any]:
    """Of one of them, what is different from the others."""
    one, other = next(iter(some)), next(iter(others))
    return {name: value for name, value in one._asdict().items() if value != getattr(other, name)}


def told(difference: str) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """What was different of an answer, at the old site and the new one; None: it is no difference of answers."""
    found = re.search(r": (\{'.*\}), the new one: (\{'.*\})$", difference, re.DOTALL)
    return (ast.literal_eval(found[1]), ast.literal_eval(found[2])) if found else None


async def _lasting_share_differences(
    requests: Sequence[Request],
    answers: Sequence[Sequence[Answer]],
    clients: Sequence[Clients],
    listeners: Mapping[str, str],
    samples: Samples,
) -> list[str]:
    """Listeners whose members get other shares each time they are asked. ``listeners``: id -> algorithm."""
    found = _share_differences(requests, answers, listeners)

    async def equal() -> bool:
        again = [one for one in requests if one.listener in found and _is_plain(one)]
        answers = await asyncio.gather(*(each.ask_all(again) for each in clients))
        still = _share_differences(again, answers, {name: listeners[name] for name in found})
        found.clear()
        found.update(still)
        return not found

    if found:
        await samples.are_good(equal, SHARE_REPEATS)
    return list(found.values())


def _share_differences(
    requests: Sequence[Request], answers: Sequence[Sequence[Answer]], listeners: Mapping[str, str]
) -> dict[str, str]:
    """Listeners whose members get notably other shares of plain requests. ``listeners``: id -> algorithm."""
    found = {}
    for name, algorithm in listeners.items():
        places = [place for place, one in enumerate(requests) if one.listener == name and _is_plain(one)]
        old, new = (Counter(_short(each[place]) for place in places) for each in answers)
        if _far(old, new, _tolerance(algorithm, len(places))):
            found[name] = f"{name}: of {len(places)} requests: {dict(old)}, the new one: {dict(new)}"
    return found


def _short(answer: Answer) -> str:
    """Who answered, or what else the client got."""
    return answer.by or (answer.outcome if isinstance(answer.outcome, str) else str(answer.outcome[0]))


def _is_plain(one: Request) -> bool:
    return one._replace(source="") == Request(one.listener, one.address, one.port, one.over_tls, source="")


def _tolerance(algorithm: str, total: int) -> float:
    """Number of requests by which two shares may differ. Of a hash over clients' ports, which are random, four standard
    deviations of the difference."""
    return 4 * math.sqrt(total / 2) if algorithm == RANDOM_HASH else max(3, SHARE_TOLERANCE * total)


def _far(old: Counter[str], new: Counter[str], tolerance: float) -> bool:
    return any(abs(old[name] - new[name]) > tolerance for name in old | new)


def _group(name: str) -> str:
    """The pool whose members' websites have this name; empty: it is no member's."""
    return next((f"pool {number}" for number, its in d.POOL_PLACES.items() if name and int(name[1:]) in its), "")


def different(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Entries that are not the same."""
    return [
        f"{name}: {_only(old.get(name), new.get(name))}, the new one: {_only(new.get(name), old.get(name))}"
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
    ]


def _only(one: Any, other: Any) -> Any:
    """Of two rows, what differs."""
    if isinstance(one, dict) and isinstance(other, dict):
        return {name: value for name, value in one.items() if other.get(name) != value}
    return one


def _checks(site: Site) -> dict[str, Any]:
    """Place -> what it has heard that was no client's request."""
    found = {}
    for (address, port), website in site.websites.items():
        heard = {
            heard_as(site, one) if one.head else (_bare(site, one))
            for one in website.heard
            if not _is_clients(one.head)
        }
        if heard:
            found[f"checks at {address}:{port}"] = heard
    return found


def _bare(site: Site, one: Heard) -> Any:
    return (*heard_as(site, one._replace(head=""))[:2], "no request")


def _is_clients(head: str) -> bool:
    return f"\r\n{NUMBER.lower()}:" in head.lower()


async def set_dead(site: Site, place: tuple[str, int], *, dead: bool) -> None:
    """Nobody answers at a place any more, or somebody does again."""
    if dead:
        await site.websites[place].stop()
    else:
        site.websites[place].start()


async def within(seconds: float, so: Callable[[], Awaitable[bool]]) -> bool:
    """Whether it became so."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while not await so():
        if loop.time() > deadline:
            return False
        await asyncio.sleep(LOOK_SECONDS)
    return True
