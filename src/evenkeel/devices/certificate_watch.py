"""Reads in the background when devices' own TLS certificates expire, so that no check of a device waits for that."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

from yarl import URL

from evenkeel.core.tls.own_certificates import EXPIRY_CHECK_SECONDS
from evenkeel.serving.certificate_ends import server_certificate_expiry

RETRY_SECONDS = 60.0
"""Pause, in seconds, before the certificate of a device that showed none is read again."""


class CertificateWatch:
    """Expiry of the devices' own TLS certificates, as last read."""

    def __init__(
        self,
        read_end: Callable[[str, int], Awaitable[float | None]] = server_certificate_expiry,
        now_seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read_end = read_end
        self._now_seconds = now_seconds
        self._ends: dict[str, float] = {}
        self._due_at: dict[str, float] = {}
        self._reading: asyncio.Task[None] | None = None

    def certificate_expiry_times(self, hosts: Sequence[str]) -> dict[str, float]:
        """Return ``{host: expiry in Unix time}`` as last read; hosts whose certificate was never read are
        left out.

        Also begins to read, in the background, certificates whose last reading is too old, unless such a
        reading still runs.
        """
        now = self._now_seconds()
        due = [host for host in hosts if self._due_at.get(host, 0.0) <= now]
        # One read at a time; hosts that become due meanwhile are found by the next call.
        if due and self._reading is None:
            self._reading = asyncio.get_running_loop().create_task(self._read_expiry_times(due))
        return {host: self._ends[host] for host in hosts if host in self._ends}

    async def _read_expiry_times(self, hosts: Sequence[str]) -> None:
        try:
            for host in hosts:
                url = URL(f"https://{host}")
                found = await self._read_end(url.host or "", url.port or 443)
                if found is not None:
                    self._ends[host] = found
                self._due_at[host] = self._now_seconds() + (RETRY_SECONDS if found is None else EXPIRY_CHECK_SECONDS)
        finally:
            self._reading = None

    async def close(self) -> None:
        """Cancel the reading in progress, and wait for its end."""
        if self._reading is not None:
            reading, self._reading = self._reading, None
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
