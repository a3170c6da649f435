"""Records events before the product's own certificates expire.

These are the certificates that this controller serves or is shown by peers, and the devices' certificates, which agents
report. All controllers check them; each stage leads to one event.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence

from evenkeel.core.control.agents import Agent
from evenkeel.core.ports import Clock, OperatorStore, SchedulingStore
from evenkeel.core.tls.own_certificates import DEVICE, EXPIRY_CHECK_SECONDS, OwnCertificate

ReadCertificates = Callable[[], Awaitable[Sequence[OwnCertificate]]]
"""Reads the end dates of the certificates of this process and of the servers that it uses."""


class OwnCertificates:
    """Stores the end dates of all of the product's own certificates, so that events are recorded before they
    expire.
    """

    def __init__(
        self, operators: OperatorStore, scheduling: SchedulingStore, seen: ReadCertificates, clock: Clock
    ) -> None:
        self._operators = operators
        self._scheduling = scheduling
        self._seen = seen
        self._clock = clock
        self._noted: dict[str, OwnCertificate] = {}
        self._due_at_seconds = float("-inf")

    async def read_end_dates(self) -> None:
        """Read the end dates of all own certificates, and store them if they have changed or were stored
        :data:`EXPIRY_CHECK_SECONDS` ago. Raises :class:`StoreUnavailable`.
        """
        found = [*await self._seen(), *device_certificates(await self._operators.agents())]
        # two agents of a group see the certificate of the same device
        unique = {one.name: one for one in found}
        now = self._clock.monotonic()
        if unique == self._noted and now < self._due_at_seconds:
            return
        await self._scheduling.record_own_certificates(tuple(unique.values()))
        self._noted, self._due_at_seconds = unique, now + EXPIRY_CHECK_SECONDS


def device_certificates(agents: Iterable[Agent]) -> Iterator[OwnCertificate]:
    """Yield the certificates that live agents reported of their devices."""
    for agent in agents:
        for device in agent.devices if agent.alive else ():
            if device.certificate_ends_at is not None:
                name = f"{DEVICE}{device.name} of {agent.environment}/{agent.group_number}"
                yield OwnCertificate(name=name, ends_at=device.certificate_ends_at)
