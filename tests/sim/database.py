"""The database server: one SQLite in memory for all processes, with its own clock, faults and an eye on every row.

The operations are the product's; they run in the loop, one transaction at a time. What becomes of rows is told by
triggers to :class:`tests.sim.watch.Watch` when the transaction commits.
"""

import random
import sqlite3
from collections.abc import Sequence
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import create_engine
from sqlalchemy.exc import IntegrityError, SQLAlchemyError
from sqlalchemy.pool import StaticPool

from evenkeel.core.kit.errors import StoreUnavailable
from evenkeel.core.protocol.messages import ReportApplied
from evenkeel.store.engine.database import Database, Op
from evenkeel.store.migrations import upgrade_tables
from evenkeel.store.reports.applied import RecordedReport
from tests.sim.effects import Effects, Latency, Lost, Postponed
from tests.sim.process import Process
from tests.sim.watch import Watch

T = TypeVar("T")
EPOCH_SECONDS = 1_700_000_000.0
SECONDS_PER_DAY = 86_400.0
JULIAN_EPOCH_DAYS = 2_440_587.5
FIRST_HISTORY = "the first history"

Tables = dict[str, list[Any]]
"""Rows by table."""

TRIGGERS = """
CREATE TRIGGER sim_lb_new AFTER INSERT ON load_balancer BEGIN SELECT sim_row('lb', NEW.id, NULL, json_array(
 NEW.revision, NEW.applied_revision, NEW.provisioning_status, NEW.deleted, NEW.shard_id, NEW.change_id)); END;
CREATE TRIGGER sim_lb_change AFTER UPDATE ON load_balancer BEGIN SELECT sim_row('lb', NEW.id, json_array(
 OLD.revision, OLD.applied_revision, OLD.provisioning_status, OLD.deleted, OLD.shard_id, OLD.change_id), json_array(
 NEW.revision, NEW.applied_revision, NEW.provisioning_status, NEW.deleted, NEW.shard_id, NEW.change_id)); END;
CREATE TRIGGER sim_lb_gone AFTER DELETE ON load_balancer BEGIN SELECT sim_row('lb', OLD.id, json_array(
 OLD.revision, OLD.applied_revision, OLD.provisioning_status, OLD.deleted, OLD.shard_id, OLD.change_id), NULL); END;
CREATE TRIGGER sim_shard_new AFTER INSERT ON shard BEGIN SELECT sim_row('shard', NEW.id, NULL, json_array(
 NEW.epoch, NEW.acting_agent_id, NEW.project_id, NEW.group_number)); END;
CREATE TRIGGER sim_shard_change AFTER UPDATE ON shard BEGIN SELECT sim_row('shard', NEW.id, json_array(
 OLD.epoch, OLD.acting_agent_id, OLD.project_id, OLD.group_number), json_array(
 NEW.epoch, NEW.acting_agent_id, NEW.project_id, NEW.group_number)); END;
CREATE TRIGGER sim_agent_new AFTER INSERT ON agent BEGIN SELECT sim_row('agent', NEW.id, NULL, json_array(
 NEW.session_id, NEW.host)); END;
CREATE TRIGGER sim_agent_change AFTER UPDATE OF session_id ON agent BEGIN SELECT sim_row('agent', NEW.id, NULL,
 json_array(NEW.session_id, NEW.host)); END;
"""


class _Engine:
    """One connection for all runs of this interpreter: SQLAlchemy's compiled statements stay with it."""

    def __init__(self) -> None:
        self.engine = create_engine(
            "sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False, "cached_statements": 1024}
        )
        self.connection = self.engine.connect()
        raw = self.connection.connection.driver_connection
        assert raw is not None
        self.raw: sqlite3.Connection = raw
        self.raw.isolation_level = None
        self.raw.execute("PRAGMA journal_mode=MEMORY")
        self.server: Server | None = None
        """Whose run it is."""
        with self.connection.begin():
            upgrade_tables(self.connection)
        self.raw.executescript(TRIGGERS)
        self.raw.create_function("julianday", 1, lambda _text: self.server and self.server.julianday())
        self.raw.create_function("random", 0, lambda: self.server and self.server.rng.getrandbits(63))
        self.raw.create_function("sim_row", 4, lambda *row: self.server and self.server.watch.row(*row))
        tables = self.raw.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name != 'alembic_version'")
        self._tables = [name for (name,) in tables]

    def begin(self, server: "Server") -> None:
        """A new run: empty tables."""
        self.write({name: [] for name in self._tables} | {"history": [(1, FIRST_HISTORY, 0.0)]})
        self.server = server

    def read(self) -> Tables:
        """All there is."""
        return {name: self.raw.execute(f"SELECT * FROM {name}").fetchall() for name in self._tables}

    def write(self, tables: Tables) -> None:
        """This and nothing else; nobody is told of rows."""
        server, self.server = self.server, None
        self.raw.execute("PRAGMA foreign_keys=OFF")
        for name, rows in tables.items():
            self.raw.execute(f"DELETE FROM {name}")
            for row in rows:
                self.raw.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(row))})", row)
        self.raw.execute("PRAGMA foreign_keys=ON")
        self.server = server


_engine: _Engine | None = None


class Server:
    """The database of one run."""

    def __init__(self, effects: Effects, watch: Watch, rng: random.Random) -> None:
        global _engine
        _engine = _engine or _Engine()
        self.connection = _engine.connection
        self.raw = _engine.raw
        self.losses = 0
        """How often it lost commits."""
        self.engine = _engine
        self.effects = effects
        self.watch = watch
        self.offset_seconds = 0.0
        """How far its clock has jumped."""
        self.down = False
        self.latency = Latency(0.0005, 0.004)
        self.refuse = self.lose = self.repeat = 0.0
        """Chances of: refused before it began, committed without an answer, run twice."""
        self.rng = rng
        _engine.begin(self)

    def add_environment(self, name: str, driver: str) -> None:
        """As an operator had done long ago."""
        columns = "(name, device_driver, description, created_at)"
        self.raw.execute(f"INSERT INTO environment {columns} VALUES (?, ?, '', 0)", (name, driver))

    def now(self) -> float:
        """By its own clock."""
        return EPOCH_SECONDS + self.effects.loop.now + self.offset_seconds

    def julianday(self) -> float:
        """As SQLite says it."""
        return self.now() / SECONDS_PER_DAY + JULIAN_EPOCH_DAYS

    def arrive(self, process: Process, op: Op[T], write: bool) -> T:
        """The operation, as the server meets it. Raises :class:`StoreUnavailable`, :class:`Lost`."""
        effects = self.effects
        if self.down or process.cut_from_store:
            raise StoreUnavailable("the database is out of reach")
        if process.dead and not (write and self.rng.random() < 0.3):  # else its COMMIT was on its way
            raise StoreUnavailable("its client is gone")
        if process.frozen and (not write or self.rng.random() < 0.7):
            raise Postponed(0.2)
        if effects.fault("store refused", self.refuse):
            raise StoreUnavailable("the database refused")
        if write and effects.fault("transaction repeated", self.repeat):
            self._execute(op, commit=False)
        result = self._execute(op, commit=True)
        if effects.fault("commit unknown" if write else "read lost", self.lose):
            raise Lost
        return result

    def _execute(self, op: Op[T], *, commit: bool) -> T:
        self.watch.begin()
        self.raw.execute("BEGIN")
        transaction = self.connection.begin()
        try:
            result = op(self.connection)
        except IntegrityError:
            transaction.rollback()
            raise
        except (SQLAlchemyError, sqlite3.Error) as error:
            transaction.rollback()
            self.watch.violation(f"SQL failed: {str(error)[:300]}")
            raise StoreUnavailable("the database refused the operation") from error
        except BaseException:
            transaction.rollback()
            raise
        if commit:
            transaction.commit()
            self.watch.commit()
            if isinstance(result, list) and result and isinstance(result[0], RecordedReport):
                self._reported(op, result)
        else:
            transaction.rollback()
        return result

    def _reported(self, op: Any, recorded: Sequence[RecordedReport]) -> None:
        """The operation encloses one report, or all of them."""
        (sent,) = [
            [held] if isinstance(held, ReportApplied) else held
            for held in (cell.cell_contents for cell in op.__closure__)
            if isinstance(held, ReportApplied | list | tuple)
        ]
        for report, each in zip(sent, recorded, strict=True):
            self.watch.reported(report, each.receipt.stale)

    def copy(self) -> Tables:
        """What a copy that lags behind has."""
        return self.engine.read()

    def lose_commits(self, copy: Tables) -> None:
        """The copy takes its place: every commit since it was made is lost."""
        self.losses += 1
        self.engine.write(copy)

    def look(self, sql: str, *parameters: Any) -> list[Any]:
        """The harness's own view; no fault strikes it."""
        return self.raw.execute(sql, parameters).fetchall()


class SimDatabase(Database):
    """One process's way to the server."""

    def __init__(self, server: Server, process: Process) -> None:
        self._server = server
        self._process = process

    async def write(self, op: Op[T], *, urgent: bool = False) -> T:
        return await self._run(op, True)

    async def read(self, op: Op[T]) -> T:
        return await self._run(op, False)

    async def query(self, op: Op[T]) -> T:
        return await self._run(op, False)

    async def _run(self, op: Op[T], write: bool) -> T:
        server, process = self._server, self._process
        named: Any = op.func if isinstance(op, partial) else op
        name = str(named.__qualname__).replace(".<locals>", "").replace(".<lambda>", "")

        def arrive() -> T:
            server.effects.note("db", process.name, name)
            return server.arrive(process, op, write)

        result: T = await server.effects.request(
            process,
            f"commit {name}",
            arrive,
            latency=server.latency,
            lost=StoreUnavailable("the connection was lost during commit"),
            effect=write,
        )
        return result

    async def close(self) -> None:
        """Nothing is open."""
