"""Updates the live view from any controller that answers."""

import asyncio
import contextlib

from evenkeel.cli.client import ClientError
from evenkeel.demo.cluster import Cluster
from evenkeel.demo.narration import EVENTS_SHOWN, ProgressPrinter

INTERVAL_SECONDS = 0.5


async def show_live_view(cluster: Cluster, narrator: ProgressPrinter) -> None:
    """Update and redraw the live view every :data:`INTERVAL_SECONDS` until cancelled. While no controller
    answers, agents and events stay unchanged.
    """
    while True:
        with contextlib.suppress(ClientError):
            if cluster.controllers:
                narrator.picture.agents = (await cluster.get_json("/agents"))["agents"]
                narrator.picture.events = (await cluster.get_json("/events", limit=EVENTS_SHOWN, newest="true"))[
                    "events"
                ]
        narrator.refresh()
        await asyncio.sleep(INTERVAL_SECONDS)
