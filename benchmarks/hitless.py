"""How many of 100,000 requests through HAProxy fail while everything around it is changed, killed and restarted: none.

    python -m benchmarks.hitless [--rounds 3] [--requests 100000] [--https-requests 50000] [--renewals 100]
                                 [--clients 24] [--haproxy PATH]

Real processes: two controllers, three agents, the daemon, HAProxy, web servers. Every kind of change is applied in
rounds (each must become ACTIVE and be held by the daemon), the agent that serves is killed and another takes over, the
daemon, the controllers and the other agents are killed, all with SIGKILL, and started again; the certificate is renewed
all the time, and others come and go beside it; in the end a full resync runs. Exit code 1 if a request failed or a
handshake showed another's certificate. Prints a markdown table. Run it at the top of the source tree.
"""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from tests.acceptance.hitless.run import Report, Run, started


async def run(options: argparse.Namespace) -> Report:
    """One run."""
    with tempfile.TemporaryDirectory(prefix="evenkeel-hitless-") as directory:
        async with started(Path(directory), haproxy=options.haproxy) as cluster:
            print(await asyncio.to_thread(cluster.side.described), end="\n\n", flush=True)
            return await Run(
                cluster,
                rounds=options.rounds,
                clients=options.clients,
                pause_seconds=options.pause,
                requests=options.requests,
                renewals=options.renewals,
                https_requests=options.https_requests,
            ).run()


def table(report: Report) -> str:
    """The report as markdown."""
    rows = {
        "requests": ", ".join(f"{count:,} over {protocol}" for protocol, count in report.sent.items()),
        "failed": report.failed,
        "changes that arrived": f"{sum(report.changes.values())} of {len(report.changes)} kinds",
        "certificates renewed": report.renewals,
        "certificates that came and went beside": report.guests,
        "handshakes that showed another's certificate": len(report.strange),
        "processes killed": sum(told.endswith("killed") for told in report.faults),
        "full resync": report.resync,
        "the daemon's journal since its restart": ", ".join(f"{count} {how}" for how, count in report.writes.items()),
        "seconds": f"{report.seconds:.0f}",
        "load average at the end": report.load,
    }
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows.items())])


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="how often each kind of change is applied")
    parser.add_argument("--requests", type=int, default=100_000, help="least number of requests")
    parser.add_argument(
        "--clients", type=int, default=24, help="over HTTP; half as many over HTTPS, a quarter over TCP"
    )
    parser.add_argument("--https-requests", type=int, default=50_000, help="least number of those over HTTPS")
    parser.add_argument("--renewals", type=int, default=100, help="how often the certificate is renewed")
    parser.add_argument("--pause", type=float, default=0.01, help="seconds between a client's requests")
    parser.add_argument("--haproxy", type=Path, help="the haproxy to run; else the one the daemon finds")
    report = asyncio.run(run(parser.parse_args()))
    print("\n".join([*report.faults, *report.failures, *report.strange, "", table(report)]))
    return 1 if report.failed or report.strange else 0


if __name__ == "__main__":
    sys.exit(main())
