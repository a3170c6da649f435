"""``python -m tests.acceptance.history``: the long run, and the judging of a history that is there already."""

import argparse
import asyncio
import random
import sys
import tempfile
from pathlib import Path

from tests.acceptance.history import report
from tests.acceptance.history.checker import Verdict, check
from tests.acceptance.history.events import read
from tests.acceptance.history.run import Plan, Run
from tests.acceptance.history.servers import DATABASES, running


def main() -> int:
    """0: every promise was kept; 1: not; 2: it cannot be run here."""
    arguments = _arguments()
    if arguments.check:
        return tell(check(read(arguments.check)), None)
    seed = random.SystemRandom().randrange(1_000_000) if arguments.seed is None else arguments.seed
    directory = arguments.directory or Path(tempfile.mkdtemp(prefix="evenkeel-history-"))
    directory.mkdir(parents=True, exist_ok=True)
    print(f"seed {seed}, {arguments.minutes:g} minutes of faults on RabbitMQ and {arguments.database}, in {directory}")
    plan = Plan(
        seed=seed,
        fault_seconds=arguments.minutes * 60,
        storms=not arguments.calm,
        session_ttl_seconds=arguments.session_ttl,
    )
    with running(arguments.database) as servers:
        if isinstance(servers, str):
            print(servers, file=sys.stderr)
            return 2
        file = asyncio.run(Run(plan, directory, *servers).carry_out())
    return tell(check(read(file)), file)


def tell(verdict: Verdict, file: Path | None) -> int:
    """Print the tables; the summary goes beside the history."""
    print(report.table(verdict))
    if file is not None:
        summary = file.with_name("summary.json")
        summary.write_text(report.as_json(verdict) + "\n")
        print(f"\nhistory: {file}\nsummary: {summary}")
    if verdict.broken:
        print("\n" + report.problems(verdict), file=sys.stderr)
    return 1 if verdict.broken else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="of faults")
    parser.add_argument("--database", choices=DATABASES, default="postgresql")
    parser.add_argument("--calm", action="store_true", help="hit agents alone, one at a time: measures takeovers")
    parser.add_argument("--session-ttl", type=float, default=5.0, help="of agents, whose keepalive_interval is a fifth")
    parser.add_argument("--seed", type=int, help="chooses faults and values; timing is never the same")
    parser.add_argument("--directory", type=Path, help="for logs and the history; a new temporary one by default")
    parser.add_argument("--check", type=Path, metavar="FILE", help="judge this history, run nothing")
    return parser.parse_args()


sys.exit(main())
