"""Enhanced services of one agent: read from its directory, checked for its devices, with the load balancers that use
them.

:meth:`Catalogue.refresh` is cheap while no file changes.
"""

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol

import structlog

from evenkeel.config.esd.definition import Definition
from evenkeel.config.esd.directory import Fingerprint, read_directory
from evenkeel.config.esd.parse import ParsedFiles, parse_all
from evenkeel.core.devices.device import EnhancedServices
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.resources.enhanced_services import OPTIONAL, EnhancedService
from evenkeel.devices.esd.selection import enhanced_service_names

log = structlog.get_logger(__name__)


class Verifier(Protocol):
    """Checks definitions of enhanced services against what the devices can do and hold."""

    def files_changed(self) -> None:
        """Drop what was read from devices, because new definitions may name other objects."""

    async def verify(self, definitions: Mapping[str, Definition], *, strict: bool) -> Mapping[str, Definition]:
        """Return the definitions by name, with problems and warnings where devices cannot serve them; device
        errors are not raised.

        ``strict``: a definition with an unusable tag cannot be used at all; else only the tag is discarded.
        """


class Catalogue:
    """Definitions of an agent's enhanced services, by name. Empty if no directory is configured."""

    def __init__(self, directory: str, verifier: Verifier, *, strict: bool = False) -> None:
        """``strict``: a definition with an unusable tag cannot be used at all; else only the tag is discarded."""
        self._strict = strict
        self._directory = Path(directory) if directory else None
        self._verifier = verifier
        self._fingerprint: Fingerprint | None = None
        self._parsed = ParsedFiles()
        self._directory_problem = ""
        self._turn = asyncio.Lock()
        self._users: dict[LoadBalancerId, tuple[ProjectId, frozenset[str]]] = {}
        self._changed: set[str] = set()
        self._loaded = False
        self.definitions: Mapping[str, Definition] = {}

    async def refresh(self) -> None:
        """Read changed files and check all definitions again. Problems of files and devices are logged and
        reported by :meth:`take_changed_services`, not raised.
        """
        if self._directory is None:
            self._loaded = True
            return
        async with self._turn:
            await self._read_files(self._directory)
            self._replace_definitions(await self._verifier.verify(self._parsed.definitions, strict=self._strict))
            self._loaded = True

    async def definitions_for(self, services: Iterable[ServiceDefinition]) -> Mapping[str, Definition]:
        """Return the definitions that these load balancers name, by the name as written; the first call reads
        files and devices.

        A name without a file gets a definition with that problem; an optional name without a file is left
        out. The load balancers are remembered as users of the definitions, and those that are deleted or name
        none are forgotten.
        """
        named: set[str] = set()
        for service in services:
            names = enhanced_service_names(service)
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
                found[name] = Definition(name=name, file="", problem=self._missing_service_text(name))
        return found

    def take_changed_services(self) -> EnhancedServices:
        """Return all enhanced services, unreadable files included, and by project the sorted load balancers
        that use a definition which changed since the last call.
        """
        changed, self._changed = self._changed, set()
        due: dict[ProjectId, list[LoadBalancerId]] = {}
        for load_balancer_id, (project_id, names) in self._users.items() if changed else ():
            if names & changed:
                due.setdefault(project_id, []).append(load_balancer_id)
        return EnhancedServices(
            services=tuple(self._reported_services()), due={project: tuple(sorted(ids)) for project, ids in due.items()}
        )

    # -- implementation

    def _missing_service_text(self, name: str) -> str:
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
            yield self.definitions[name].enhanced_service()

    async def _read_files(self, directory: Path) -> None:
        snapshot = await asyncio.to_thread(read_directory, directory, self._fingerprint)
        if snapshot is None:
            return
        self._fingerprint = snapshot.fingerprint
        self._directory_problem = snapshot.problem
        self._parsed = parse_all(snapshot.contents, strict=self._strict)
        self._verifier.files_changed()
        log.info("enhanced services read", directory=str(directory), count=len(self._parsed.definitions))
        for problem in filter(None, (snapshot.problem, *self._parsed.problems.values())):
            log.error("enhanced services not read", problem=problem)

    def _replace_definitions(self, found: Mapping[str, Definition]) -> None:
        before, self.definitions = self.definitions, found
        changed = {name for name in before.keys() | found.keys() if before.get(name) != found.get(name)}
        self._changed |= changed
        for name in sorted(changed):
            one = found.get(name)
            if one is not None and one.problem:
                log.error("enhanced service cannot be used", name=name, problem=one.problem)
            for warning in () if one is None else one.warnings:
                log.warning("enhanced service without one of its tags", name=name, reason=warning)
