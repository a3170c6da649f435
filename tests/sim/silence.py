"""Devices that fall silent: they refuse nothing and reset nothing, and only time-outs end what waits for them.

The product's own reach (:class:`evenkeel.devices.reachability.DeviceReachability`) bounds each wait for a no-op device
here, as its drivers do for real ones. What a silent device would do arrives nowhere.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from evenkeel.core.kit.errors import DeviceUnavailable
from evenkeel.devices.errors import NoAnswer
from evenkeel.devices.reachability import PATIENCE_SECONDS, DeviceReachability
from tests.sim.device import Box, SimDevice, Site
from tests.sim.effects import Latency
from tests.sim.process import Process

REQUEST_SECONDS = 60.0
"""Time-out of a request on a connection that was made before the silence began."""
POLL_SECONDS = 0.25
PROBE_LATENCY = Latency(0.005, 0.05)
"""A device that is only slow answers a probe."""


async def answer_awaited(box: Any, seconds: float = REQUEST_SECONDS) -> None:
    """Wait while the device is silent, for ``seconds`` at most. Raises :class:`NoAnswer`."""
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    while box.silent:
        if loop.time() >= until:
            raise NoAnswer(box.name, f"no answer within {seconds:g} s")
        await asyncio.sleep(POLL_SECONDS)


class _Client:
    """One process's small requests to one device. Implements :class:`evenkeel.devices.reachability.DeviceClient`."""

    def __init__(self, site: Site, box: Box, process: Process) -> None:
        self.host = box.name
        self.heard_at = site.effects.loop.time()
        self._site = site
        self._box = box
        self._process = process

    @property
    def seconds_since_answer(self) -> float:
        """Seconds since the last response."""
        return self._site.effects.loop.time() - self.heard_at

    async def probe(self, timeout_seconds: float) -> None:
        """One small request. Raises :class:`DeviceUnavailable`."""

        def arrive() -> None:
            if not self._box.reachable or self._process.cut_from_devices:
                raise DeviceUnavailable(self.host, "out of reach")

        await answer_awaited(self._box, timeout_seconds)
        lost = DeviceUnavailable(self.host, "no answer")
        await self._site.effects.request(
            self._process, "device probe", arrive, latency=PROBE_LATENCY, lost=lost, effect=False
        )
        self.heard_at = self._site.effects.loop.time()

    async def is_alive(self, timeout_seconds: float) -> bool:
        """Whether it answers."""
        try:
            await self.probe(timeout_seconds)
        except DeviceUnavailable:
            return False
        return True


class ProbedDevice(SimDevice):
    """One process's view of a site whose devices may fall silent. Implements
    :class:`evenkeel.core.ports.device.SilentDeviceProber`, too."""

    def __init__(self, site: Site, process: Process) -> None:
        super().__init__(site, process)
        self._clients = {box: _Client(site, box, process) for box in site.boxes}
        self._reaches = {box: DeviceReachability(client, 1.0) for box, client in self._clients.items()}

    async def probe_silent_devices(self) -> Mapping[str, str]:
        """Why a device does not answer now, by name."""
        reaches = self._reaches.items()
        errors = await asyncio.gather(*(reach.silence_error() for _, reach in reaches))
        found = {}
        for (box, reach), error in zip(reaches, errors, strict=True):
            if error is not None:
                reach.doubt = error
                found[box.name] = error.reason
        return found

    async def close(self) -> None:
        """End all probes."""
        for reach in self._reaches.values():
            await reach.close()

    async def _request(self, what: str, do: Callable[[], Any], *, effect: bool = True) -> Any:
        await asyncio.gather(*map(self._confirm, self._reaches))
        answer = asyncio.ensure_future(super()._request(what, do, effect=effect))
        await asyncio.gather(answer, *map(self._wait_for, self._reaches), return_exceptions=True)
        for box, client in self._clients.items():
            if box.reachable and not self._process.cut_from_devices:
                client.heard_at = self._site.effects.loop.time()
        return answer.result()

    async def _confirm(self, box: Box) -> None:
        """A doubted device is asked first; the others wait for its answer for a moment only."""
        reach = self._reaches[box]
        if reach.doubt is None:
            return
        try:
            async with asyncio.timeout(PATIENCE_SECONDS if len(self._reaches) > 1 else None):
                await reach.require_answer()
        except (TimeoutError, DeviceUnavailable):
            return

    async def _wait_for(self, box: Box) -> None:
        """The answer of a device that is trusted, and may be silent."""
        reach = self._reaches[box]
        if reach.doubt is not None or not box.silent:
            return
        try:
            await reach.watch(answer_awaited(box))
        except DeviceUnavailable as error:
            reach.doubt = error


@contextmanager
def fallen_silent(boxes: list[Any]) -> Iterator[None]:
    """The devices are silent."""
    for box in boxes:
        box.silent = True
    try:
        yield
    finally:
        for box in boxes:
            box.silent = False
