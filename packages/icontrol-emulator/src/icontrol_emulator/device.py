"""One device: its configuration, tokens, transactions, saved state and role in the cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from icontrol_emulator import errors
from icontrol_emulator.config.builtins import VIRTUAL_EDITION, Platform, install
from icontrol_emulator.config.engine import Engine
from icontrol_emulator.config.model import Key
from icontrol_emulator.config.registry import Registry
from icontrol_emulator.config.render import Renderer
from icontrol_emulator.config.schema import StatusSource
from icontrol_emulator.config.store import ChangeSet, Snapshot
from icontrol_emulator.rest.tokens import TokenBook
from icontrol_emulator.rest.transactions import TransactionBook
from icontrol_emulator.uploads import Uploads

ACTIVE, STANDBY, OFFLINE = "active", "standby", "offline"
SNAPSHOTS_MAX = 50


@dataclass(frozen=True, slots=True)
class DeviceSpec:
    """The listening address of a device; port 0: any free port."""

    name: str
    host: str = "127.0.0.1"
    port: int = 0


@dataclass(frozen=True, slots=True)
class CommitId:
    """The last change of a device group's objects on a device; higher numbers are newer."""

    number: int
    originator: str


@dataclass(slots=True)
class Task:
    """A /mgmt/tm/task: finished at the first read after its start."""

    id: int
    path: str
    body: Mapping[str, Any]
    state: str = "STARTED"


class Device:
    def __init__(
        self, name: str, registry: Registry, clock: Callable[[], float], status: StatusSource,
        peers: list[str], users: Mapping[str, str], open_transactions_max: int,
        serial_of: Callable[[str], str] = "emulated-{}".format, addresses: Mapping[str, str] | None = None,
        platform: Platform = VIRTUAL_EDITION,
    ) -> None:  # fmt: skip
        self.name = name
        self.serial = serial_of(name)
        self.url = ""
        self.clock = clock
        self.failover_state = ACTIVE
        self.forced_offline = False
        """Whether an operator took it offline; it is not so while it is powered off."""
        self.active_for: frozenset[str] = frozenset()
        """Names of the traffic groups for which the device is active."""
        self.commits: dict[str, CommitId] = {}
        """The last commit, by device group."""
        self.saved_commits: dict[str, CommitId] = {}
        self.reachable = True
        self.boots = 0
        self.changed_listeners: list[Callable[[ChangeSet], None]] = []
        self.engine = Engine(registry, clock, status, self._changed)
        self.platform = platform
        install(self.engine, name, peers, users, serial_of, addresses or {}, platform)
        self.renderer = Renderer(self.engine)
        self.tokens = TokenBook(clock)
        self.tokens.frees_expired = registry.release.frees_expired_tokens
        self.transactions = TransactionBook(clock, open_transactions_max)
        self.factory: Snapshot = self.engine.store.snapshot()
        self.saved: Snapshot = self.factory
        self.snapshots: dict[str, Snapshot] = {}
        self.uploads = Uploads()
        self.tasks: dict[int, Task] = {}
        self.package_tasks: dict[str, dict[str, Any]] = {}
        self.archives: dict[str, Any] = {}
        self.disk_is_full = False

    def _changed(self, changes: ChangeSet) -> None:
        for listener in self.changed_listeners:
            listener(changes)

    def password_of(self, user: str) -> str | None:
        found = self.engine.store.get(Key("auth/user", "", user))
        return None if found is None else found.props.get("_password")

    def provisioned(self, module: str) -> bool:
        found = self.engine.store.get(Key("sys/provision", "", module))
        return found is not None and found.props.get("level", "none") != "none"

    def objects(self, type_path: str, partition: str | None = None) -> list[str]:
        """Full paths of the objects of a type, from the store."""
        return [obj.key.path for obj in self.engine.store.top(type_path, partition)]

    def check_disk(self) -> None:
        """Raises an error if nothing can be written to the device's disk."""
        if self.disk_is_full:
            raise errors.disk_full()

    def save(self) -> None:
        self.check_disk()
        self.saved = self.engine.store.snapshot()
        self.saved_commits = dict(self.commits)

    def load(self, snapshot: Snapshot) -> None:
        """Make a snapshot the running configuration and notify observers."""
        store = self.engine.store
        store.begin()
        store.restore(snapshot)
        store.next_generation()
        self._changed(store.commit())

    def boot(self) -> None:
        """Load the saved configuration, which is no change of it."""
        self.load(self.saved)
        self.commits = dict(self.saved_commits)

    def replace(self, snapshot: Snapshot) -> None:
        """Replace the configuration as loading an archive (UCS) does: it also becomes the saved configuration."""
        self.saved = snapshot
        self.load(snapshot)

    def forget_sessions(self) -> None:
        """Drop the state that a reboot loses, besides unsaved configuration."""
        self.boots += 1
        self.tokens.forget_everything()
        self.transactions.forget_everything()
        self.tasks.clear()
