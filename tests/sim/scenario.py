"""What a seed decides before anything runs: how many of everything, which kinds of faults, how patient all are."""

import random
import uuid

from evenkeel.agent.settings import AgentSettings
from evenkeel.agent.state_reports import FULL_EVERY
from evenkeel.controller.settings import ControllerSettings
from evenkeel.core.kit.backoff import Backoff
from evenkeel.core.resources.statuses import RescheduleMode

AGENT_IDS = uuid.UUID("b7b2a0de-3c6f-4a59-9f63-8f6d1f0f2c11")

KINDS = {
    # kind: weight among the faults of a run that has it
    "crash agent": 3,
    "crash controller": 2,
    "freeze agent": 4,
    "freeze controller": 2,
    "stop agent": 2,
    "stop controller": 1,
    "bus outage": 1,
    "bus emptied": 1,
    "agent cut from bus": 2,
    "controller cut from bus": 1,
    "database outage": 1,
    "controller cut from database": 1,
    "database clock jumps": 1,
    "device reboot": 2,
    "device restored": 1,
    "device edited by hand": 2,
    "load balancer poisoned": 1,
    "agent drained": 2,
    "agent forced down": 2,
    "agent rebound": 1,
    "agent deleted": 1,
    "agent cut from devices": 2,
    "agent started twice": 2,
    "hand-back asked": 1,
    "hand-back forbidden": 1,
    "breaker closed by hand": 1,
}
SILENCE = "device falls silent"
WEIGHTS = KINDS | {"database loses commits": 3, SILENCE: 3}
LOSS = "database loses commits"
"""Rare, for it weakens what can be said of the clients' writes."""
LOSS_SHARE = 0.25
MOVES = (
    "agent cut from bus",
    "agent drained",
    "agent forced down",
    "agent rebound",
    "agent started twice",
    "crash agent",
    "freeze agent",
    "stop agent",
)
"""Faults after which shards belong to other agents."""
STEADY = ("controller cut from bus", "controller cut from database", "crash controller", "freeze controller")
"""Faults after which shards belong to the same agents as before."""
DRIFT = {"device restored", "device edited by hand"}
"""Nobody is told of these. The look finds what was restored; a guard that was moved by hand, and what was added, only
the next complete pass."""


class Scenario:
    """See the module."""

    driver = "noop"
    """Of the devices."""

    def __init__(self, rng: random.Random) -> None:
        self.controllers = rng.choice((2, 2, 3))
        self.boxes = rng.choice(((1,), (2,), (1, 2)))
        agents = rng.choice((3, 4))
        self.agent_groups = [1] * agents if len(self.boxes) == 1 else [1, 1, 2, 2, 1][: max(agents, 4)]
        self.projects = [f"project-{number}" for number in range(1, rng.choice((2, 3, 4)))]
        self.clients = rng.randrange(3, 6)
        self.writes = rng.randrange(4, 10)
        self.fault_seconds = rng.uniform(24.0, 34.0)
        self.fault_spacing_seconds = rng.choice((1.0, 2.0, 4.0))
        self.kinds = sorted(rng.sample(sorted(KINDS), rng.randrange(2, 9)))
        self.noise = {
            "lost": rng.choice((0.0, 0.0, 0.02, 0.15)),
            "repeated": rng.choice((0.0, 0.0, 0.05, 0.2)),
            "delayed": rng.choice((0.0, 0.0, 0.05, 0.2)),
            "store refused": rng.choice((0.0, 0.0, 0.01, 0.05)),
            "commit unknown": rng.choice((0.0, 0.0, 0.02, 0.08)),
            "transaction repeated": rng.choice((0.0, 0.05)),
            "device error": rng.choice((0.0, 0.0, 0.05, 0.2)),
            "device answer lost": rng.choice((0.0, 0.0, 0.05, 0.2)),
        }
        self.slow_device = rng.choice((0.0, 0.0, 0.1, 0.3))
        self.slow_bus = rng.choice((0.0, 0.0, 0.05))
        self.slow_store = rng.choice((0.0, 0.0, 0.05))
        self.pending_deadline_seconds = 6.0
        self.session_ttl_seconds = 4.0
        self.retry_max_seconds = 3.0
        modes = (RescheduleMode.CONTROL,) * 5 + (RescheduleMode.RELOCATE, RescheduleMode.NEVER)
        self.reschedule = rng.choice(modes)
        self.tenant_limits: dict[int, float] = {}
        """How many tenants a device group may have; the last group has room for all."""
        if len(self.boxes) > 1 and rng.random() < 0.5:
            self.tenant_limits[1] = float(rng.choice((1, 2)))
        if rng.random() < LOSS_SHARE:
            self.kinds.append(LOSS)
        self.assignments_per_call = 1000
        """Shards of a page of the assignments."""
        self.networks = False
        """Devices are attached to networks, of which projects share some."""
        self.replaced = ""
        """Way in which the database is replaced by another one; empty: it is not."""
        self.orphan_grace_seconds = 0.2
        self.probed = False
        """Devices are probed each second, and may fall silent."""
        self.client_pause_seconds = 1.5
        self.arrival_seconds = 8.0
        """Within so many seconds clients begin."""
        self.tenant_spacing_seconds = 0.0
        """Between the first clients of two tenants; 0: tenants do not come one after the other."""
        self.hints_repeated = self.hints_delayed = 0.0
        """Chances of hints, beside those of all messages."""
        self.keepalive_seconds = 1.0
        self.report_seconds = 6.0
        self.loss_after_seconds = 0.0
        self.lost_tenants: set[str] = set()
        """The database loses the first load balancer of one of these tenants, with its shard; none: whatever is
        new."""
        self.drains_losers = False
        """The shard's owner is drained then."""
        self.loss_seconds: tuple[float, ...] = (0.3, 2.0, 6.0)
        """How many seconds of commits are lost, about."""

    def lose_commits(self) -> None:
        """Tenants who write fast, devices that are slow, and a database whose loss is found out late."""
        self.kinds = [*self.kinds[:2], LOSS] if LOSS not in self.kinds[:2] else self.kinds[:2]
        # with the slower pace, one change is lost and the next one gets its revision; with the faster one, many
        self.writes, self.client_pause_seconds = 90, 1.0 if self.clients == 4 else 0.3
        self.slow_device = 0.1
        self.loss_after_seconds, self.loss_seconds = 12.0, (0.5, 1.5)
        self.session_ttl_seconds, self.keepalive_seconds = 9.0, 3.0

    def new_tenants(self, rng: random.Random) -> None:
        """Tenants who begin one after the other, while hints about them are late and repeated, their shards move, and
        the database loses commits."""
        self.projects = [f"project-{number}" for number in range(1, 9)]
        self.writes, self.tenant_limits = 3, {}
        self.arrival_seconds, self.tenant_spacing_seconds, self.loss_after_seconds = 4.0, 3.0, 4.0
        self.hints_repeated, self.hints_delayed = 0.3, rng.choice((0.0, 0.3))
        if rng.random() < 0.5:
            # Keepalives show the loss, but late: until then the tenant's second load balancer gets a shard again, of
            # another agent.
            self.clients, self.lost_tenants, self.drains_losers = 2 * len(self.projects), set(self.projects), True
            self.kinds = [*rng.sample(MOVES, 2), LOSS]
            self.loss_seconds, self.keepalive_seconds = (1.0, 2.0), 3.0
        else:
            # Often no keepalive shows it, and the agent that serves what was lost gets nothing else.
            self.clients, self.lost_tenants = len(self.projects), {self.projects[-1]}
            self.kinds = [rng.choice(STEADY), LOSS]
            self.loss_seconds, self.keepalive_seconds = (0.6, 1.0), 6.0
        self.session_ttl_seconds, self.report_seconds = 3 * self.keepalive_seconds, 2.0

    def tenant(self, number: int, rng: random.Random) -> tuple[str, float]:
        """Project of the client with that number, and the seconds after which the project's clients begin."""
        if not self.tenant_spacing_seconds:
            return rng.choice(self.projects), 0.0
        order = (number - 1) % len(self.projects)
        return self.projects[order], order * self.tenant_spacing_seconds

    def replace_database(self, way: str, grace_seconds: float) -> None:
        """Another database, while devices keep what they hold."""
        self.kinds = [kind for kind in self.kinds if kind not in DRIFT | {LOSS, "agent deleted"}]
        self.tenant_limits = {}
        self.replaced, self.orphan_grace_seconds = way, grace_seconds

    def silence(self) -> None:
        """Devices that fall silent, among a few other faults."""
        self.kinds = [*self.kinds[:3], SILENCE]
        self.probed = True

    @property
    def resync_seconds(self) -> float:
        """Between complete passes: often only where what somebody did is found by nothing else."""
        found_by_passes = DRIFT if self.driver == "bigip" else {"device edited by hand"}
        return 8.0 if found_by_passes & set(self.kinds) else 600.0

    @property
    def poll_seconds(self) -> float:
        """Until each agent has read its assignments without a reason: often only where nothing else finds what the
        database lost."""
        return self.report_seconds * FULL_EVERY * 1.3 if self.lost_tenants else 0.0

    @property
    def found_by_looks(self) -> bool:
        """May a device lose what only the next looks find?"""
        return bool({"device restored", *(("device reboot",) if self.driver == "bigip" else ())} & set(self.kinds))

    def controller_settings(self) -> ControllerSettings:
        """Of all controllers."""
        return ControllerSettings(
            session_ttl_seconds=self.session_ttl_seconds,
            schedule_interval_seconds=1.0,
            sweep_interval_seconds=3.0,
            suspicion_interval_seconds=1.5,
            homes_interval_seconds=2.0,
            settle_seconds=3.0,
            stop_timeout_seconds=2.0,
            orphan_grace_seconds=self.orphan_grace_seconds,
            orphans_per_answer=1000,
        )

    def agent_settings(self, host: str, number: int, environment: str) -> AgentSettings:
        """Of one agent."""
        return AgentSettings(
            agent_id=str(uuid.uuid5(AGENT_IDS, host)),
            environment=environment,
            group_number=number,
            host=host,
            report_interval_seconds=self.report_seconds,
            keepalive_interval_seconds=self.keepalive_seconds,
            call_timeout_seconds=2.0,
            assignments_per_call=self.assignments_per_call,
            status_interval_seconds=4.0,
            resync_interval_seconds=self.resync_seconds,
            retire_seconds=1.0,
            write_budget_seconds=0.5,
            retry=Backoff(initial_seconds=0.5, max_seconds=self.retry_max_seconds, jitter=(0.75, 1.25)),
            duplicate_patience_seconds=15.0,
        )
