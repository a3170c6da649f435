"""What is seen while it happens: the devices' logs of writes, operators' events, revisions as the API shows them."""

import asyncio
import contextlib
import random
import time
from collections.abc import Callable, Iterable
from typing import Any

from evenkeel.cli.client import API_PATH, ClientError
from evenkeel.demo.cluster import Cluster
from tests.acceptance.history.events import History
from tests.acceptance.history.ownership import guard_of

LOG_SECONDS = 0.5
EVENTS_SECONDS = 1.0
OBSERVE_SECONDS = 0.15
ERROR_CHARACTERS = 300
AGENT = "evenkeel-agent/"


class DeviceLog:
    """Copies the emulator's log of writes into the history."""

    def __init__(self, cluster: Cluster, history: History) -> None:
        self._cluster = cluster
        self._history = history
        self._after = 0

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self.copy()
            await asyncio.sleep(LOG_SECONDS)

    async def copy(self) -> None:
        """What came since the last time."""
        entries = await asyncio.to_thread(self._cluster.emulator.writes, self._after)
        if entries and entries[0]["seq"] > self._after + 1:
            raise RuntimeError(f"the devices' log has lost entries after {self._after}")
        offset = time.monotonic() - time.time()  # the log's clock is the wall's
        for entry in entries:
            self._after = entry["seq"]
            if entry["event"] in ("transaction_committed", "transaction_refused", "write"):
                self._history.add("device_write", t=entry["time"] + offset, **write_of(entry, self._prefix))

    @property
    def _prefix(self) -> str:
        return f"{self._cluster.environment}_"


def write_of(entry: Any, prefix: str) -> dict[str, Any]:
    """An entry of the log as the history keeps it. ``epoch`` None: no guard."""
    body = entry["body"] if isinstance(entry["body"], dict) else {}
    commands = body.get("commands", [])
    guard = guard_of(commands)
    return {
        "device": entry["device"],
        "seq": entry["seq"],
        "project": guard[0].removeprefix(prefix) if guard else "",
        "epoch": guard[1] if guard else None,
        "host": entry["user_agent"].removeprefix(AGENT),
        "accepted": entry["event"] == "transaction_committed" or (entry["event"] == "write" and entry["status"] < 300),
        "path": entry["path"],
        "commands": len(commands),
        "error": (entry["error"] or "")[:ERROR_CHARACTERS],
    }


async def copy_events(cluster: Cluster, history: History) -> None:
    """Operators' events, until cancelled."""
    after = 0
    while True:
        with contextlib.suppress(ClientError):
            found = (await cluster.get_json("/events", after=after, limit=1000))["events"]
            for event in found:
                after = event["id"]
                history.add("operator_event", event=event)
        await asyncio.sleep(EVENTS_SECONDS)


async def observe(
    cluster: Cluster, history: History, load_balancers: Callable[[], Iterable[str]], rng: random.Random
) -> None:
    """Ask one load balancer after the other how far it is, each time one controller alone, until cancelled.

    One question at a time, so that the order of answers is the order of what they say.
    """
    while True:
        await asyncio.sleep(OBSERVE_SECONDS)
        known = list(load_balancers())
        chosen = rng.sample(known, min(10, len(known)))
        for load_balancer_id in chosen * 2:
            number = rng.choice((1, 2, 3))
            asked = time.monotonic()
            client = cluster.client(number, timeout_seconds=3.0)
            with contextlib.suppress(ClientError):
                path = f"{API_PATH}/loadbalancers/{load_balancer_id}/agent"
                hosting = (await asyncio.to_thread(client.get, path))["hosting"]
                history.add(
                    "observed",
                    load_balancer=load_balancer_id,
                    revision=hosting["revision"],
                    applied=hosting["applied_revision"],
                    asked=asked,
                    controller=number,
                )
            await asyncio.sleep(OBSERVE_SECONDS)
