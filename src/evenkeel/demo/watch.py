"""Keeps the live picture true: asks the controllers now and then, whichever of them answers."""

import asyncio
import contextlib

from evenkeel.cli.client import ClientError
from evenkeel.demo.cluster import Cluster
from evenkeel.demo.narration import EVENTS_SHOWN, Narrator

INTERVAL_SECONDS = 0.5


async def watch(cluster: Cluster, narrator: Narrator) -> None:
    """Run until cancelled. A controller that does not answer leaves the picture as it was."""
    while True:
        with contextlib.suppress(ClientError):
            if cluster.controllers:
                narrator.picture.agents = (await cluster.ask("/agents"))["agents"]
                narrator.picture.events = (await cluster.ask("/events", limit=EVENTS_SHOWN, newest="true"))["events"]
        narrator.refresh()
        await asyncio.sleep(INTERVAL_SECONDS)
