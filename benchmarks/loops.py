"""What the loops of controllers, and the reads that operators and agents repeat, cost at a size: the slopes of
docs/explanation/scale.md.

    python -m benchmarks.loops [--postgresql] [--load-balancers 1000 10000 100000] [--agents 100]

Fills a database of its own (an SQLite file, or a PostgreSQL server) with load balancers, ten to a tenant, each with a
listener, its counters, a pool, two members and a tag or two, and agents that are all alive, and calls the methods of
the store that the loops call, one after the other. Prints for each the shortest time by the clock, and the mean of the
CPU milliseconds of this process and of PostgreSQL, for one call.
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from sqlalchemy import text

from benchmarks.dashboard import BATCH, TENANT_LOAD_BALANCERS, fill, number_id
from benchmarks.idle import cpu_seconds, family
from evenkeel.core.control.lists import ListQuery, TagFilter
from evenkeel.core.control.overview import ControllerHeartbeat
from evenkeel.core.kit.errors import StoreUnavailable
from evenkeel.core.kit.ids import AgentId
from evenkeel.core.ports.ownership import ArrivedKeepalive
from evenkeel.core.protocol.messages import Keepalive
from evenkeel.core.resources.model import Listener, LoadBalancer, Member, Pool
from evenkeel.core.resources.statuses import OperatingStatus, ProvisioningStatus
from evenkeel.metrics.system import read_figures
from evenkeel.store.operators.counts import read_counts
from evenkeel.store.records import schema
from evenkeel.store.records.rows import row_from_resource
from evenkeel.store.sql_store import SqlStore, open_store
from tests.services.postgres import PostgreSQL

MEMBERS = 2
CALLS = (5, 300)
"""The least and the most calls of each."""
CPU_SECONDS, WALL_SECONDS = 0.7, 10.0
"""For all calls of one kind, if there are enough of them."""
WINDOW_SECONDS = 30.0
SETTLE_SECONDS = 15.0
TTL_SECONDS = 86_400.0

Call = Callable[[], Awaitable[object]]
DONE = {"provisioning_status": ProvisioningStatus.ACTIVE, "operating_status": OperatingStatus.ONLINE}


async def add_children(store: SqlStore, load_balancers: int) -> None:
    """A listener with counters, a pool and members for each load balancer."""
    now = time.time()
    for begin in range(0, load_balancers, BATCH):
        numbers = range(begin, min(begin + BATCH, load_balancers))
        listeners, pools, members, counters = [], [], [], []
        for number in numbers:
            project = number_id(4, number // TENANT_LOAD_BALANCERS)
            root, listener, pool = number_id(5, number), number_id(10, number), number_id(11, number)
            common = {"project_id": project, "load_balancer_id": root, "created_at": now, **DONE}
            pools.append(row_from_resource(Pool(id=pool, protocol="HTTP", lb_algorithm="ROUND_ROBIN", **common)))
            listeners.append(
                row_from_resource(
                    Listener(id=listener, protocol="HTTP", protocol_port=80, default_pool_id=pool, **common)
                )
            )
            members += [
                row_from_resource(
                    Member(
                        id=number_id(12, number * MEMBERS + each),
                        pool_id=pool,
                        address=f"198.18.0.{each + 1}",
                        protocol_port=80,
                        **common,
                    )
                )
                for each in range(MEMBERS)
            ]
            totals = dict.fromkeys(
                ("bytes_in", "bytes_out", "active_connections", "total_connections", "request_errors"), number
            )
            counters.append({"listener_id": listener, "load_balancer_id": root, **totals})
        for table, rows in (
            (schema.pool, pools),
            (schema.listener, listeners),
            (schema.member, members),
            (schema.listener_statistics, counters),
        ):
            await store.database.write(lambda connection, t=table, r=rows: connection.execute(t.insert(), r))


def tagged(**wanted: tuple[str, ...]) -> ListQuery:
    """A page of those whose tags are such."""
    return ListQuery(limit=50, tags=TagFilter(**wanted))


def calls(store: SqlStore, load_balancers: int, agents: int) -> dict[str, Call]:
    """What is measured, by name."""
    first, session = number_id(1, 0), number_id(2, 0)
    calls_of_agents = [
        Keepalive(agent_id=AgentId(number_id(1, n)), session_id=number_id(2, n)) for n in range(min(agents, 200))
    ]
    beats = [ArrivedKeepalive(call=each) for each in calls_of_agents]
    seen = ControllerHeartbeat(id=number_id(13, 0), host="bench", url="http://bench", version="1")
    scheduling, operators, tenants = store.scheduling, store.operators, store.tenants
    newest = f"lb-{load_balancers - 1:05d}"

    def due(*, homes: bool) -> Call:
        return lambda: scheduling.read_due_work(
            settle_seconds=SETTLE_SECONDS, breaker_window_seconds=WINDOW_SECONDS, homes=homes
        )

    def listed(query: ListQuery) -> Call:
        return lambda: tenants.list(LoadBalancer, query)

    return {
        "scheduler: change indicator": scheduling.change_indicator,
        "scheduler: due work": due(homes=False),
        "scheduler: due work with homes": due(homes=True),
        "scheduler: not placed yet": lambda: scheduling.read_unplaced_load_balancers(limit=100),
        "failure detector: sessions": scheduling.read_live_sessions,
        "sweeper: overdue": lambda: scheduling.mark_overdue_load_balancers(limit=500),
        "sweeper: events": lambda: scheduling.trim_events(keep=10_000, limit=1000),
        "sweeper: certificates": lambda: scheduling.remove_unused_certificates(limit=500),
        "sweeper: orphans": lambda: scheduling.create_shards_for_orphans(grace_seconds=86_400.0, limit=1),
        "presence": lambda: scheduling.record_heartbeat(seen),
        f"keepalives, a round of {len(beats)}": lambda: store.ownership.renew_sessions(beats, ttl_seconds=TTL_SECONDS),
        "an agent's assignments": lambda: store.ownership.assignments(first, session, work_limit=500),
        "series: traffic of 10,000": lambda: store.reports.read_traffic(limit=10_000),
        "metrics: the whole system": lambda: read_figures(operators),
        "list: a page of 50": listed(ListQuery(limit=50)),
        "list: by name": listed(ListQuery(limit=50, filters={"name": (newest,)})),
        "list: by VIP": listed(ListQuery(limit=50, filters={"vip_address": ("10.0.3.231",)})),
        "list: by status, none": listed(ListQuery(limit=50, filters={"provisioning_status": ("PENDING_DELETE",)})),
        "list: by status, few": listed(ListQuery(limit=50, filters={"provisioning_status": ("ERROR",)})),
        "list: by operating status, none": listed(ListQuery(limit=50, filters={"operating_status": ("DEGRADED",)})),
        "list: one project": listed(ListQuery(limit=50, project_id=number_id(4, 0))),
        "list: by a tag of ten": listed(tagged(every=("team-0",))),
        "list: by a tag of half": listed(tagged(every=("even",))),
        "list: by any of two tags": listed(tagged(some=("team-0", "team-1"))),
        "list: without a tag of half": listed(tagged(none=("even",))),
        "status: counts": operators.load_balancer_summary,
        "status: counted again": lambda: store.database.read(read_counts),
        "status: shards": operators.shard_counts,
        "agents": operators.agents,
        "one agent": lambda: operators.agent(AgentId(first)),
        "topology": operators.ownership,
        "events: the newest": lambda: operators.events(after=0, limit=1000),
        "events: of one load balancer": lambda: operators.events(newest=True, limit=20, object_id=number_id(5, 7)),
    }


async def measure(url: str, load_balancers: int, agents: int, database_pid: int, only: str) -> None:
    """The rows of one size whose names contain ``only``."""
    store = open_store(url)
    await store.start()
    for name, call in calls(store, load_balancers, agents).items():
        if only not in name:
            continue
        try:
            await call()
        except StoreUnavailable:
            print(f"| {load_balancers} | {agents} | {name} | longer than a statement may take | | |", flush=True)
            continue
        taken: list[float] = []
        own, theirs = time.process_time(), cpu_seconds(family(database_pid)) if database_pid else 0.0
        ends_at = time.monotonic() + WALL_SECONDS
        while len(taken) < CALLS[0] or (
            len(taken) < CALLS[1] and time.process_time() - own < CPU_SECONDS and time.monotonic() < ends_at
        ):
            began = time.perf_counter()
            await call()
            taken.append(time.perf_counter() - began)
        own = time.process_time() - own
        theirs = (cpu_seconds(family(database_pid)) if database_pid else 0.0) - theirs
        wall = 1000 * min(taken)
        figures = " | ".join(f"{each:.2f}" for each in (wall, 1000 * own / len(taken), 1000 * theirs / len(taken)))
        print(f"| {load_balancers} | {agents} | {name} | {figures} |", flush=True)
    await store.close()


def one_size(url: str, load_balancers: int, agents: int, database_pid: int, only: str) -> None:
    """Fill and measure."""
    asyncio.run(fill(url, load_balancers, agents))

    async def children() -> None:
        store = open_store(url)
        await store.start()
        await add_children(store, load_balancers)
        for table in schema.metadata.sorted_tables:
            await store.database.write(lambda connection, t=table: connection.execute(text(f"ANALYZE {t.name}")))
        await store.close()

    asyncio.run(children())
    asyncio.run(measure(url, load_balancers, agents, database_pid, only))


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--postgresql", action="store_true")
    parser.add_argument("--load-balancers", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--agents", type=int, default=100)
    parser.add_argument("--only", default="", metavar="TEXT", help="rows whose names contain it")
    options = parser.parse_args()
    print("| load balancers | agents | what | shortest ms | this process, CPU ms | PostgreSQL, CPU ms |")
    print("|---|---|---|---|---|---|", flush=True)
    server = PostgreSQL() if options.postgresql else None
    try:
        if server is not None:
            server.start()
        for load_balancers in options.load_balancers:
            with tempfile.TemporaryDirectory(prefix="evenkeel-loops-") as name:
                url = server.create_database() if server else f"sqlite:///{Path(name)}/bench.db"
                one_size(url, load_balancers, options.agents, server.pid if server else 0, options.only)
    finally:
        if server is not None:
            server.close()


if __name__ == "__main__":
    main()
