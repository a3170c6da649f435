"""The enhanced services of one agent: read from its directory, checked against its devices, with their users.

:meth:`Catalogue.refresh` is cheap while no file changes. Devices are read when files changed, and every
:data:`VERIFIED_SECONDS`, because the operator's objects may come and go. A device that does not answer is left out: its
objects are checked when it is back.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path

import structlog

from evenkeel.config.esd.definition import Definition, types_of
from evenkeel.config.esd.directory import Fingerprint, read_directory
from evenkeel.config.esd.parse import Parsed, parse_all
from evenkeel.core.devices.device import EnhancedServices
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.errors import DeviceRejected, DeviceUnavailable
from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.resources.enhanced_services import OPTIONAL, EnhancedService
from evenkeel.devices.bigip.esd.verify import Common, verify_definition

log = structlog.get_logger(__name__)

VERIFIED_SECONDS = 60.0
"""Interval at which devices are read for the objects again."""

ReadCommon = Callable[[tuple[str, ...]], Awaitable[Mapping[str, Common]]]
"""Reads these types of objects in /Common; the answers of the devices that were reached, by host. Raises
:class:`DeviceUnavailable` if there are none, :class:`DeviceRejected`."""


class Catalogue:
    """Enhanced service definitions by name. Empty without a directory."""

    def __init__(
        self,
        directory: str,
        read_common: ReadCommon,
        *,
        strict: bool = False,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """``strict``: a definition with an unusable tag cannot be used; else the tag is discarded."""
        self._strict = strict
        self._directory = Path(directory) if directory else None
        self._read_common = read_common
        self._now = now
        self._fingerprint: Fingerprint | None = None
        self._parsed = Parsed()
        self._directory_problem = ""
        self._devices: dict[str, Common] = {}
        self._verified_at_seconds: float | None = None
        self._turn = asyncio.Lock()
        self._users: dict[LoadBalancerId, tuple[ProjectId, frozenset[str]]] = {}
        self._changed: set[str] = set()
        self._loaded = False
        self.definitions: Mapping[str, Definition] = {}

    async def refresh(self) -> None:
        """Bring the definitions up to date. Never raises because of a file or a device."""
        if self._directory is None:
            self._loaded = True
            return
        async with self._turn:
            await self._read_files(self._directory)
            await self._verify_on_devices()
            self._settle(
                {
                    name: verify_definition(one, self._devices, strict=self._strict)
                    for name, one in self._parsed.definitions.items()
                }
            )
            self._loaded = True

    async def definitions_for(self, services: Iterable[ServiceDefinition]) -> Mapping[str, Definition]:
        """The definitions that these load balancers name; files and devices are read if that was not done yet.

        A name that no file has stands for a definition with that problem; an optional one is left out. The load
        balancers are remembered as users.
        """
        named: set[str] = set()
        for service in services:
            names = frozenset(name for one in service.listeners for name in one.enhanced_services)
            if names and not service.deleted:
                plain = frozenset(name.removeprefix(OPTIONAL) for name in names)
                self._users[service.load_balancer_id] = (service.project_id, plain)
                named |= names
            else:
                self._users.pop(service.load_balancer_id, None)
        if named and not self._loaded:
            await self.refresh()
        found: dict[str, Definition] = {}
        for name in sorted(named):
            if known := self.definitions.get(name.removeprefix(OPTIONAL)):
                found[name] = known
            elif not name.startswith(OPTIONAL):
                found[name] = Definition(name=name, file="", problem=self._missing_text(name))
        return found

    def take_changes(self) -> EnhancedServices:
        """All enhanced services, and the load balancers that use one that changed since the last call."""
        changed, self._changed = self._changed, set()
        due: dict[ProjectId, list[LoadBalancerId]] = {}
        for load_balancer_id, (project_id, names) in self._users.items() if changed else ():
            if names & changed:
                due.setdefault(project_id, []).append(load_balancer_id)
        return EnhancedServices(
            services=tuple(self._reported_services()), due={project: tuple(sorted(ids)) for project, ids in due.items()}
        )

    # -- implementation

    def _missing_text(self, name: str) -> str:
        if self._directory is None:
            return f"enhanced service {name!r}: the agent has none; its option esd_dir is not set"
        unread = "; ".join(filter(None, (self._directory_problem, *self._parsed.problems.values())))
        return f"enhanced service {name!r} is in no file of {self._directory}" + (f" ({unread})" if unread else "")

    def _reported_services(self) -> Iterable[EnhancedService]:
        if self._directory_problem:
            yield EnhancedService(name="", file=str(self._directory), problem=self._directory_problem)
        for file, problem in self._parsed.problems.items():
            yield EnhancedService(name="", file=file, problem=problem)
        for name in sorted(self.definitions):
            yield self.definitions[name].to_report()

    async def _read_files(self, directory: Path) -> None:
        snapshot = await asyncio.to_thread(read_directory, directory, self._fingerprint)
        if snapshot is None:
            return
        self._fingerprint = snapshot.fingerprint
        self._directory_problem = snapshot.problem
        self._parsed = parse_all(snapshot.contents, strict=self._strict)
        # The new definitions may name objects that were not read yet.
        self._verified_at_seconds = None
        log.info("enhanced services read", directory=str(directory), count=len(self._parsed.definitions))
        for problem in filter(None, (snapshot.problem, *self._parsed.problems.values())):
            log.error("enhanced services not read", problem=problem)

    async def _verify_on_devices(self) -> None:
        types = types_of(self._parsed.definitions.values())
        verified_at = self._verified_at_seconds
        if not types or (verified_at is not None and self._now() - verified_at < VERIFIED_SECONDS):
            return
        try:
            # of devices out of reach the last reading stays
            self._devices = {**self._devices, **await self._read_common(types)}
            self._verified_at_seconds = self._now()
        except (DeviceUnavailable, DeviceRejected) as error:
            log.warning("enhanced services not checked against the devices", reason=str(error))

    def _settle(self, found: Mapping[str, Definition]) -> None:
        before, self.definitions = self.definitions, found
        changed = {name for name in before.keys() | found.keys() if before.get(name) != found.get(name)}
        self._changed |= changed
        for name in sorted(changed):
            one = found.get(name)
            if one is not None and one.problem:
                log.error("enhanced service cannot be used", name=name, problem=one.problem)
            for warning in () if one is None else one.warnings:
                log.warning("enhanced service without one of its tags", name=name, reason=warning)
