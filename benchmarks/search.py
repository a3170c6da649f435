"""Operators' searches over 100,000 load balancers on PostgreSQL, MariaDB and SQLite, by a controller's HTTP.

    python -m benchmarks.search [--load-balancers N] [--members N] [postgresql mariadb sqlite]

Starts the server from Debian's package and a controller, and fills the database with the synthetic rows of
``benchmarks.dashboard``, with a pool of members for each load balancer. Prints a markdown table: median and slowest of
20 answers of each question. Run it in the repository's root.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
from sqlalchemy import text

from benchmarks.dashboard import ENVIRONMENT, fill, number_id, start_controller, timed
from evenkeel.core.resources.model import Member, Pool
from evenkeel.store.records import schema
from evenkeel.store.records.rows import row_from_resource
from evenkeel.store.sql_store import open_store
from tests.services.mariadb import MariaDB
from tests.services.postgres import PostgreSQL

AGENTS = 100
BATCH = 1_000
TIMES = 20
QUESTIONS = (
    ("the first page", "limit=50"),
    ("ERROR", "limit=50&provisioning_status=ERROR"),
    ("a device group, by name", f"limit=50&environment={ENVIRONMENT}&group_number=7&sort=name:asc"),
    ("an environment", f"limit=50&environment={ENVIRONMENT}"),
    ("held", "limit=50&held=true"),
    ("part of a name that one has", "limit=50&q=b-97310"),
    ("part of a name that 10,000 have", "limit=50&q=b-9&sort=name:desc"),
    ("the same in the other order", "limit=50&q=b-9&sort=name:asc"),
    ("part of every name", "limit=50&q=lb-"),
    ("part of a name that none has", "limit=50&q=nothing+like+it"),
    ("a VIP", "limit=50&q=10.1.2.3"),
    ("a member", "limit=50&q=192.168.77.13"),
    ("an id", f"limit=50&q={number_id(5, 97310)}"),
    (
        "part of every name, two of them in ERROR and a group",
        f"q=lb&provisioning_status=ERROR&environment={ENVIRONMENT}&group_number=7",
    ),
)


def _pool(number: int) -> Pool:
    return Pool(
        id=number_id(10, number),
        load_balancer_id=number_id(5, number),
        project_id=number_id(4, 0),
        protocol="HTTP",
        lb_algorithm="ROUND_ROBIN",
    )


def _member(number: int, each: int, members: int) -> Member:
    return Member(
        id=number_id(11, number * members + each),
        pool_id=number_id(10, number),
        load_balancer_id=number_id(5, number),
        project_id=number_id(4, 0),
        address=f"192.168.{number % 256}.{(number >> 8) % 64 * 4 + each}",
        protocol_port=80,
    )


async def add_members(url: str, load_balancers: int, members: int) -> None:
    """A pool of each load balancer, with members."""
    store = open_store(url)
    await store.start()
    for begin in range(0, load_balancers, BATCH):
        numbers = range(begin, min(load_balancers, begin + BATCH))
        pools = [row_from_resource(_pool(number)) for number in numbers]
        rows = [row_from_resource(_member(number, each, members)) for number in numbers for each in range(members)]
        for table, part in ((schema.pool, pools), (schema.member, rows)):
            await store.database.write(
                lambda connection, table=table, part=part: connection.execute(table.insert(), part)
            )
    if not url.startswith("mysql"):
        await store.database.write(lambda connection: connection.execute(text("ANALYZE")))
    await store.close()


@contextmanager
def database(kind: str, directory: Path) -> Iterator[str]:
    """The URL of an empty one."""
    if kind == "sqlite":
        yield f"sqlite:///{directory / 'search.db'}"
        return
    server = PostgreSQL() if kind == "postgresql" else MariaDB({"innodb-buffer-pool-size": "1G"})
    server.start()
    try:
        yield server.create_database()
    finally:
        server.stop()


def measured(api: str) -> Iterator[tuple[str, str]]:
    with httpx.Client(base_url=f"{api}/evenkeel/v1", timeout=60.0) as client:
        for title, query in QUESTIONS:
            answer = client.get(f"/loadbalancers?{query}")
            if not answer.is_success:
                yield title, f"{answer.status_code} {answer.text[:80]}"
                continue
            found = answer.json()
            taken = timed(lambda query=query: client.get(f"/loadbalancers?{query}").raise_for_status(), TIMES)
            total = f"{'' if found['total_is_exact'] else 'more than '}{found['total']:,}"
            yield title, f"{statistics.median(taken):.0f} ms, slowest {max(taken):.0f} ms ({total})"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--load-balancers", type=int, default=100_000)
    parser.add_argument("--members", type=int, default=3)
    parser.add_argument("databases", nargs="*", default=["postgresql", "mariadb", "sqlite"])
    options = parser.parse_args()
    columns = []
    for kind in options.databases:
        with ExitStack() as stack:
            directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="evenkeel-search-")))
            url = stack.enter_context(database(kind, directory))
            asyncio.run(fill(url, options.load_balancers, AGENTS))
            asyncio.run(add_members(url, options.load_balancers, options.members))
            workspace, api, _ = asyncio.run(start_controller(directory, url))
            try:
                columns.append(dict(measured(api)))
            finally:
                for process in workspace.processes.values():
                    process.stop()
    print(f"| search | {' | '.join(options.databases)} |\n|---|{'---|' * len(columns)}")
    for title, _ in QUESTIONS:
        print(f"| {title} | {' | '.join(column[title] for column in columns)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
