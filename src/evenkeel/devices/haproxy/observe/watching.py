"""Waiting until a daemon tells of a change."""

import asyncio
from collections.abc import Sequence

from evenkeel.core.backoff import Backoff
from evenkeel.core.errors import DeviceRejected, DeviceUnavailable
from evenkeel.devices.haproxy.device import HaproxyDevice
from evenkeel.devices.haproxy.naming import HaproxyNames
from evenkeel.devices.waiting import ended
from evenkeel.haproxyd import wire

WAIT_SECONDS = 25
"""One question for events waits so long at the daemon, then another one is asked."""
RETRY = Backoff(initial_seconds=1.0, max_seconds=15.0)
"""Between questions to a daemon that cannot be asked."""


async def changed(devices: Sequence[HaproxyDevice], names: HaproxyNames) -> None:
    """Return when any of them tells of something that its last observation does not include."""
    tasks = [asyncio.create_task(_told(device, names)) for device in devices]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await ended(*tasks)


async def _told(device: HaproxyDevice, names: HaproxyNames) -> None:
    """A daemon that could not be asked for a while, or at the last observation, may have something to tell as well."""
    after, tries = device.seen_event, 1
    while True:
        try:
            if after is None:
                await asyncio.sleep(RETRY.nominal_seconds(tries))
            news = await device.daemon.events(after or 0, 0 if after is None else WAIT_SECONDS)
        except (DeviceUnavailable, DeviceRejected):
            after, tries = None, tries + 1
            continue
        if after is None or _concerns(news, after, names):
            return
        after = news.newest


def _concerns(news: wire.DaemonEvents, after: int, names: HaproxyNames) -> bool:
    """Numbers that went backwards are those of another life of the daemon."""
    return news.missed or news.newest < after or any(names.owns(event.partition) for event in news.events)
