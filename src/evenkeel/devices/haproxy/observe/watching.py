"""Waits for changes that daemons report."""

import asyncio
from collections.abc import Sequence
from typing import Protocol

from evenkeel.core.kit.backoff import Backoff
from evenkeel.core.kit.errors import DeviceRejected, DeviceUnavailable
from evenkeel.devices.haproxy.client import DaemonClient
from evenkeel.devices.haproxy.naming import HaproxyNames
from evenkeel.devices.waiting import cancel_and_wait
from evenkeel.haproxyd import wire

LONG_POLL_SECONDS = 25
"""Duration of one long poll for events, in seconds."""
POLL_RETRY = Backoff(initial_seconds=1.0, max_seconds=15.0)
"""Pause before the next poll of a daemon that could not be polled."""


class PolledDevice(Protocol):
    """A device whose daemon is polled for events."""

    daemon: DaemonClient
    seen_event: int | None
    """Number of the newest event that the last observation includes; None: it failed, or there was none."""
    has_events: bool
    """Whether the next observation is made because of events."""


async def wait_for_device_change(devices: Sequence[PolledDevice], names: HaproxyNames) -> None:
    """Return when a daemon reports events that may concern this environment and that the last observation
    does not include, or when a daemon answers again after a failure. Never raises because of a device.
    """
    tasks = [asyncio.create_task(_wait_for_notification(device, names)) for device in devices]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await cancel_and_wait(*tasks)


async def _wait_for_notification(device: PolledDevice, names: HaproxyNames) -> None:
    """Return when the daemon has an event of this environment, or responds again after failures; sets
    ``has_events`` to whether events are the reason.

    After failed polls, or a failed observation, the daemon may have changes that no event reports any more.
    """
    after, tries = device.seen_event, 1
    while True:
        try:
            if after is None:
                await asyncio.sleep(POLL_RETRY.nominal_seconds(tries))
            # After a failure it only matters whether the daemon answers, so that poll does not wait for an event.
            news = await device.daemon.wait_for_events(after or 0, 0 if after is None else LONG_POLL_SECONDS)
        except (DeviceUnavailable, DeviceRejected):
            after, tries = None, tries + 1
            continue
        if after is None or _may_concern_environment(news, after, names):
            device.has_events = after is not None and not news.missed and news.newest >= after
            return
        after = news.newest


def _may_concern_environment(news: wire.DaemonEvents, after: int, names: HaproxyNames) -> bool:
    """Whether the events may concern this environment.

    An event number below ``after`` comes from a restarted daemon, which may concern any environment.
    """
    return news.missed or news.newest < after or any(names.is_own_partition(event.partition) for event in news.events)
