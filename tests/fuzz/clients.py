"""The strangers, in a process of their own: ``python -m tests.fuzz.clients``. Ends by itself.

Each of so many clients has one connection at a time, from one of 127.0.0.2 to 127.0.0.9, sends something, at once or a
byte now and then, reads or does not, and begins again. Prints how many connections there were.
"""

import argparse
import asyncio
import contextlib
import logging
import random
import ssl
from collections import Counter
from typing import NamedTuple

from tests.fuzz.payloads import HTTP, bad_tls

ADDRESSES = [f"127.0.0.{number}" for number in range(2, 10)]
PAUSE_SECONDS = 2.0
"""On average, between two connections of a client."""


class Target(NamedTuple):
    """A server."""

    port: int
    tls: bool


class Stranger:
    """One client."""

    def __init__(self, chance: random.Random, targets: list[Target], counts: Counter[str]) -> None:
        self._chance = chance
        self._targets = targets
        self._counts = counts

    async def run(self, ends_at: float) -> None:
        """Until the end."""
        now = asyncio.get_running_loop().time
        while now() < ends_at:
            with contextlib.suppress(OSError, ssl.SSLError, TimeoutError, asyncio.IncompleteReadError):
                async with asyncio.timeout(min(40.0, ends_at - now())):
                    await self._once()
            await asyncio.sleep(min(self._chance.expovariate(1 / PAUSE_SECONDS), max(0.0, ends_at - now())))

    async def _once(self) -> None:
        chance = self._chance
        target = chance.choice(self._targets)
        shakes_hands = target.tls and chance.random() < 0.6
        reader, writer = await asyncio.open_connection(
            "127.0.0.1",
            target.port,
            local_addr=(chance.choice(ADDRESSES), 0),
            ssl=_trusting() if shakes_hands else None,
        )
        self._counts["connections"] += 1
        try:
            await self._send(reader, writer, may_http=shakes_hands or not target.tls)
        finally:
            writer.transport.abort()

    async def _send(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, may_http: bool) -> None:
        chance = self._chance
        make = chance.choice(HTTP) if may_http else bad_tls
        data = make(chance)
        self._counts[make.__name__] += 1
        way = chance.choice(("at once", "at once", "silent", "slowly", "unread"))
        if way == "silent":
            await reader.read()
        elif way == "slowly":
            for number in range(len(data)):
                writer.write(data[number : number + 1])
                await asyncio.sleep(chance.random())
        else:
            if way == "unread":
                writer.transport.pause_reading()
            writer.write(data)
            await writer.drain()
            await asyncio.sleep(chance.choice((0.0, 1.0, 20.0)))
            if way == "at once":
                while await reader.read(65536):
                    pass


_contexts: list[ssl.SSLContext] = []


def _trusting() -> ssl.SSLContext:
    if not _contexts:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        _contexts.append(context)
    return _contexts[0]


async def run(targets: list[Target], *, connections: int, seconds: float, seed: int) -> Counter[str]:
    """All strangers, for so long; how many of what there was."""
    ends_at = asyncio.get_running_loop().time() + seconds
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)  # of connections that were cut
    counts: Counter[str] = Counter()
    strangers = [Stranger(random.Random(f"{seed} {n}"), targets, counts) for n in range(connections)]
    await asyncio.gather(*(stranger.run(ends_at) for stranger in strangers))
    return counts


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--http", type=int, required=True, help="port of the API")
    parser.add_argument("--https", type=int, required=True, help="port of the daemon")
    parser.add_argument("--connections", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--seed", type=int, required=True)
    given = parser.parse_args()
    logging.disable(logging.WARNING)  # asyncio's, of connections that were cut
    targets = [Target(given.http, tls=False), Target(given.https, tls=True)]
    counts = asyncio.run(run(targets, connections=given.connections, seconds=given.seconds, seed=given.seed))
    print(" ".join(f"{name}={count}" for name, count in sorted(counts.items())), flush=True)


if __name__ == "__main__":
    main()
