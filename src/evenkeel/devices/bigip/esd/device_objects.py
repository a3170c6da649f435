"""Checks enhanced services against the objects in /Common of an agent's BIG-IPs.

Devices are read when files changed and every :data:`REVERIFY_SECONDS`, because the operator may add or remove
objects. For a device that does not answer the last reading counts; types of objects that were never read from
it are checked when it is reachable again.
"""

import time
from collections.abc import Awaitable, Callable, Mapping

import structlog

from evenkeel.config.esd.definition import Definition, object_types
from evenkeel.config.esd.log_targets import NO_TARGETS, LogTargets
from evenkeel.core.kit.errors import DeviceRejected, DeviceUnavailable
from evenkeel.devices.bigip.capabilities import CAPABILITIES
from evenkeel.devices.bigip.cookie_secret import CookieSecret
from evenkeel.devices.bigip.esd.verify import CommonPaths, check_cookie_secret, verify_definition
from evenkeel.devices.esd.support import checked_definition

log = structlog.get_logger(__name__)

REVERIFY_SECONDS = 60.0
"""Interval, in seconds, at which the devices' objects are read again."""

ReadCommon = Callable[[tuple[str, ...]], Awaitable[Mapping[str, CommonPaths]]]
"""Reads the objects of these types in /Common: ``{host: objects}`` of the reachable devices.

Raises :class:`DeviceUnavailable` if no device was reached, :class:`DeviceRejected`.
"""


class DeviceObjects:
    """Verifier of enhanced services against the devices' objects, used by
    :class:`evenkeel.devices.esd.catalogue.Catalogue`.
    """

    def __init__(
        self,
        read_common: ReadCommon,
        targets: LogTargets = NO_TARGETS,
        *,
        now: Callable[[], float] = time.monotonic,
        cookie_secret: Callable[[], CookieSecret | None] = lambda: None,
    ) -> None:
        """``cookie_secret``: returns the agent's secret for encrypted cookies, which an operator may change."""
        self._read_common = read_common
        self._targets = targets
        self._cookie_secret = cookie_secret
        self._now = now
        self._devices: dict[str, CommonPaths] = {}
        self._verified_at_seconds: float | None = None

    def files_changed(self) -> None:
        """Have the next :meth:`verify` read the devices: new definitions may name objects of types that were not read
        yet.
        """
        self._verified_at_seconds = None

    async def verify(self, definitions: Mapping[str, Definition], *, strict: bool) -> Mapping[str, Definition]:
        """Return the definitions by name, with problems where devices lack objects, or cannot render a part.
        Device errors are not raised. ``strict``: as for :func:`.verify.verify_definition`.
        """
        await self._read_common_objects(object_types(definitions.values()))
        usable = {name: self._checked_definition(one) for name, one in definitions.items()}
        return {name: verify_definition(one, self._devices, strict=strict) for name, one in usable.items()}

    def _checked_definition(self, definition: Definition) -> Definition:
        return check_cookie_secret(checked_definition(definition, CAPABILITIES, self._targets), self._cookie_secret())

    async def _read_common_objects(self, types: tuple[str, ...]) -> None:
        verified_at = self._verified_at_seconds
        if not types or (verified_at is not None and self._now() - verified_at < REVERIFY_SECONDS):
            return
        try:
            # of devices out of reach the last reading stays
            self._devices = {**self._devices, **await self._read_common(types)}
            self._verified_at_seconds = self._now()
        except (DeviceUnavailable, DeviceRejected) as error:
            log.warning("enhanced services not checked against the devices", reason=str(error))
