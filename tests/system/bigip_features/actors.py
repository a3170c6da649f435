"""Members and clients of features, and the words in which bodies are written."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from evenkeel.core.devices.capabilities import INSERT_HEADERS, TLS_INSERT_HEADERS
from tests.devices import tls_behaviour
from tests.devices.plain_http import ask
from tests.devices.service_behaviour import Datagrams, Server
from tests.devices.tls_behaviour import MEMBER, ROOT, Answer, Member
from tests.system.bigip_features.place import Made, Place
from tests.waiting import eventually

SUITES = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256"
Body = dict[str, Any]


class Actors:
    """Who answers: three HTTP servers, two that speak TLS, two of datagrams. ``references``: of certificates."""

    def __init__(self, folder: Path, references: Mapping[str, str]) -> None:
        self.folder = folder
        self.references = references
        self.plain: tuple[Server, ...] = ()
        self.tls: tuple[Member, ...] = ()
        self.datagrams: tuple[Datagrams, ...] = ()

    def members(self, *changes: Body, of: tuple[Any, ...] | None = None) -> list[Body]:
        """The servers as members m1, m2 and so on. ``changes``: of each, in order."""
        found = self.plain if of is None else of
        padded = (*changes, *({} for _ in found[len(changes) :]))
        return [
            {"name": f"m{place}", "address": "127.0.0.1", "protocol_port": one.port, **change}
            for place, (one, change) in enumerate(zip(found, padded, strict=True), 1)
        ]

    def heard(self) -> bytes:
        """All requests that plain members got, of one feature."""
        return b"".join(part for one in self.plain for part in one.heard)


@contextlib.asynccontextmanager
async def actors(folder: Path, references: Mapping[str, str]) -> AsyncIterator[Actors]:
    """They answer as long as this lasts."""
    made = Actors(folder, references)
    made.plain = tuple(Server(f"plain-{place}") for place in (1, 2, 3))
    maker = tls_behaviour.Clients(_Nowhere(), folder)
    made.tls = tuple(maker.member(f"tls-{place}", MEMBER, asks=ROOT) for place in (1, 2))
    loop = asyncio.get_running_loop()
    open_ = [
        await loop.create_datagram_endpoint(lambda place=place: Datagrams(f"datagrams-{place}"), ("127.0.0.1", 0))
        for place in (1, 2)
    ]
    made.datagrams = tuple(one for _, one in open_)
    for one in (*made.plain, *made.tls):
        await one.start()
    try:
        yield made
    finally:
        for one in (*made.plain, *made.tls):
            await one.stop()
        for transport, _ in open_:
            transport.close()


class _Nowhere:
    """For members, which need no device."""

    def place(self, port: int) -> tuple[str, int]:
        raise NotImplementedError

    apply = observe = place  # type: ignore[assignment]


class Scene(NamedTuple):
    """A load balancer that serves, and those around it."""

    place: Place
    made: Made
    actors: Actors

    async def ask(self, *headers: str, path: str = "/", port: int = 80, at: str | None = None) -> tuple[str, str]:
        """Head and body of one answer on a connection of its own; nothing if it was refused."""
        return await ask((at or self.made.address, port), path, *headers)

    async def bodies(self, count: int, *headers: str, port: int = 80) -> Counter[str]:
        return Counter([(await self.ask(*headers, port=port))[1] for _ in range(count)])

    def over_tls(self) -> tls_behaviour.Clients:
        """Clients that speak TLS to the VIP."""
        address = self.made.address

        class Site(_Nowhere):
            def place(self, port: int) -> tuple[str, int]:
                return address, port

        return tls_behaviour.Clients(Site(), self.actors.folder)  # type: ignore[arg-type]

    async def asked_over_tls(self, **settings: Any) -> Answer:
        return await self.over_tls().ask(**settings)

    async def until(self, **wanted: str) -> None:
        """Wait for operating statuses, by name."""

        async def so() -> bool:
            return (await self.place.statuses(self.made)).items() >= wanted.items()

        await eventually(so)

    async def used(self, *names: str, port: int = 80) -> None:
        """Wait until these members answer, and no others."""

        async def so() -> bool:
            return set(await self.bodies(6, port=port)) == set(names)

        await eventually(so)


class Feature(NamedTuple):
    """``body``: of the load balancer. ``shows``: type -> name -> attributes, on the device. ``works``: for clients."""

    body: Callable[[Actors], Body]
    shows: dict[str, dict[str, Any]]
    works: Callable[[Scene], Any]


def pool(members: list[Body], **changes: Any) -> Body:
    fields = {"name": "pool", "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN", "members": members}
    return {**fields, **changes}


def check(type_: str = "HTTP", **changes: Any) -> Body:
    return {"name": "check", "type": type_, "delay": 2, "timeout": 1, "max_retries": 1, "max_retries_down": 1} | changes


def listener(default_pool: Body | None, **changes: Any) -> Body:
    fields: Body = {"name": "web", "protocol": "HTTP", "protocol_port": 80}
    return {**fields, **({} if default_pool is None else {"default_pool": default_pool}), **changes}


def one(*listeners: Body, **changes: Any) -> Body:
    return {"name": "feature", "listeners": list(listeners), **changes}


def tls_listener(actors: Actors, default_pool: Body, **changes: Any) -> Body:
    named = {
        "default_tls_container_ref": actors.references["www"],
        "protocol": "TERMINATED_HTTPS",
        "protocol_port": 443,
    }
    return listener(default_pool, **{**named, **changes})


def all_headers(*, tls: bool) -> dict[str, str]:
    return dict.fromkeys(INSERT_HEADERS + (TLS_INSERT_HEADERS if tls else ()), "true")
