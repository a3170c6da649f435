"""What a tenant costs on an HAProxy host: ``python -m benchmarks.density [--tenants 50 200 400] [--tree PATH …]``.

One daemon with its HAProxys in real processes, and the driver in this process, which observes as an agent does: every
5 s, and after each event. Each tenant has a load balancer with an HTTP listener (``--tls``: TERMINATED_HTTPS), a pool
and a checked member that is down. Measured are memory (PSS) of all HAProxys and of the daemon, and CPU time (schedstat)
of the daemon: while nothing happens, for a member that changes, while another owner takes all tenants over and sends
them again, and after the daemon was killed until all tenants are verified.
Then all members come up and fail at once: the time until the driver has seen all of them, and the daemon's slowest
answer meanwhile.

``--tree`` names source trees, of which each runs in turn for each number of tenants; without it, this one runs. Prints
a markdown table. Run it at the top of the source tree; compare rows of one run only.
"""

import argparse
import asyncio
import contextlib
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path

from evenkeel.core.kit.ids import SessionId
from evenkeel.demo.authority import CertificateAuthority
from evenkeel.demo.device_kinds.haproxy import DAEMON_PROCESS, HaproxyDevices
from evenkeel.demo.workspace import Workspace
from evenkeel.devices.haproxy.driver import HaproxyGroup
from evenkeel.devices.haproxy.options import HaproxyOptions, parse_options
from evenkeel.haproxyd import wire

HEAD = (
    "| tree | tenants | HAProxy a tenant, MiB | daemon, MiB | idle: daemon's CPU a tenant and second, ms "
    "| an event: daemon's CPU; all HAProxys', ms | all taken over by another owner, s; daemon's CPU, ms "
    "| daemon killed: until all verified, s; daemon's CPU, ms "
    "| all members fail: until seen, s; slowest answer, ms |\n|---|---|---|---|---|---|---|---|---|"
)
OBSERVE_SECONDS, IDLE_OBSERVATIONS = 5.0, 4
EVENTS = 6
AT_ONCE = 8
ALL_SECONDS, ASK_SECONDS = 120.0, 0.05
FIRST_PORT = 8080


def pss_mib(pids: Iterable[int]) -> float:
    """Proportional set size of processes."""
    texts = (Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in pids)
    return sum(int(size) for text in texts for size in re.findall(r"(?m)^Pss:\s+(\d+) kB", text)) / 1024


def cpu_ms(pids: Iterable[int]) -> float:
    """CPU time of all threads of processes so far."""
    tasks = (task for pid in pids for task in Path(f"/proc/{pid}/task").iterdir())
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e6


class Bench:
    """One daemon with so many tenants."""

    def __init__(self, side: HaproxyDevices, workspace: Workspace, tenants: int, *, tls: bool) -> None:
        self._side = side
        self._workspace = workspace
        self._tenants = tenants
        self._epoch = 1
        self._certificate = ""
        if tls:
            issued = CertificateAuthority().issue("www.example.org")
            self._certificate = issued.certificate + issued.private_key

    async def run(self) -> str:
        """The rest of a row."""
        await self._side.start()
        self._group = HaproxyGroup(self._options())
        try:
            await self._in_turn(self._serve)
            await self._group.observe()
            memory = pss_mib(self._side.haproxy_pids()) / self._tenants
            cells = [f"{memory:.2f}", f"{pss_mib([self._pid()]):.0f}", f"{await self._idle():.3f}"]
            cells += [await self._event(), await self._taken_over(), await self._killed(), await self._all_fail()]
            return " | ".join(cells)
        finally:
            await self._group.close()

    def _options(self) -> HaproxyOptions:
        section = dict(self._side.agent_sections("bench")["haproxy"])
        section["haproxyd_url"] = [section["haproxyd_url"]]
        section["ca_file"] = str(section["ca_file"])
        section["haproxyd_password_file"] = str(section["haproxyd_password_file"])
        return parse_options(section, environment="lab", group_number=1, host="bench")

    def _pid(self) -> int:
        return self._workspace.processes[DAEMON_PROCESS].pid

    async def _in_turn(self, work: Callable[[int], Awaitable[None]]) -> None:
        slots = asyncio.Semaphore(AT_ONCE)

        async def one(number: int) -> None:
            async with slots:
                await work(number)

        await asyncio.gather(*map(one, range(self._tenants)))

    async def _serve(self, number: int) -> None:
        """Take a tenant over and send everything it holds, as after an agent's start."""
        daemon, name = self._group._devices[0].daemon, f"lab_tenant-{number}"
        session = SessionId(f"bench-{self._epoch}")
        guard = await daemon.set_guard(name, wire.GuardState(epoch=self._epoch, session_id=session, owner="lab/1"))
        change = wire.PartitionChange(
            epoch=self._epoch,
            session_id=session,
            state_id=guard.state_id,
            load_balancers=(self._load_balancer(number),),
        )
        outcome = (await daemon.put(name, change)).outcomes[0]
        if outcome.error:
            raise RuntimeError(outcome.error)

    def _load_balancer(self, number: int) -> wire.LoadBalancerConfig:
        name = f"lb-{number}"
        pem = wire.File(name=f"{name}.pem", kind="certificate", content=self._certificate)
        address = f"127.77.{number // 250}.{number % 250 + 1}"
        return wire.LoadBalancerConfig(
            id=name,
            revision=1,
            frontends=(
                wire.Frontend(
                    name=f"{name}-web",
                    binds=(wire.Bind(address=address, port=FIRST_PORT),),
                    bind_arguments=("ssl", "crt", pem.name) if self._certificate else (),
                    lines=(f"default_backend {name}-pool",),
                ),
            ),
            backends=(
                wire.Backend(
                    name=f"{name}-pool",
                    lines=("balance roundrobin", "timeout check 1s"),
                    servers=(self._member(address),),
                ),
            ),
            files=(pem,) if self._certificate else (),
        )

    def _member(self, address: str) -> wire.BackendServer:
        check = ("check", "inter", "1s", "rise", "1", "fall", "1")
        return wire.BackendServer(name="one", address=address, port=FIRST_PORT + 1, arguments=check)

    async def _idle(self) -> float:
        began, before = time.monotonic(), cpu_ms([self._pid()])
        for _ in range(IDLE_OBSERVATIONS):
            await asyncio.sleep(OBSERVE_SECONDS)
            await self._group.observe()
        return (cpu_ms([self._pid()]) - before) / self._tenants / (time.monotonic() - began)

    async def _event(self) -> str:
        """CPU of the daemon, and of all HAProxys, for an event of one tenant's member until it was observed."""
        daemon, proxies = 0.0, 0.0
        pids = self._side.haproxy_pids()
        for number in range(EVENTS):
            await self._group.observe()
            with socket.socket() as member:
                member.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                member.bind((f"127.77.0.{number + 1}", FIRST_PORT + 1))
                before = cpu_ms([self._pid()]), cpu_ms(pids)
                member.listen()
                await self._group.wait_for_change()
                await self._group.observe()
                daemon += cpu_ms([self._pid()]) - before[0]
                proxies += cpu_ms(pids) - before[1]
            await self._group.wait_for_change()
        return f"{daemon / EVENTS:.1f}; {proxies / EVENTS:.1f}"

    async def _taken_over(self) -> str:
        self._epoch += 1
        began, before = time.monotonic(), cpu_ms([self._pid()])
        await self._in_turn(self._serve)
        return f"{time.monotonic() - began:.1f}; {cpu_ms([self._pid()]) - before:.0f}"

    async def _killed(self) -> str:
        self._side.kill_daemon()
        began = time.monotonic()
        await self._side.start()
        await self._in_turn(self._serve)
        return f"{time.monotonic() - began:.1f}; {cpu_ms([self._pid()]):.0f}"

    async def _all_fail(self) -> str:
        # all addresses, because each tenant has another one
        members = await asyncio.start_server(_hang_up, "0.0.0.0", FIRST_PORT + 1, backlog=4096)  # noqa: S104
        async with members:
            await self._until_all(up=True)
        began = time.monotonic()
        watch = asyncio.create_task(self._slowest_answer())
        await self._until_all(up=False)
        took = time.monotonic() - began
        watch.cancel()
        return f"{took:.1f}; {await watch:.0f}"

    async def _until_all(self, *, up: bool) -> None:
        async with asyncio.timeout(ALL_SECONDS):
            while True:
                await self._group.observe()
                seen = (await self._group._devices[0].recent_reading()).seen
                servers = [one for each in seen.partitions for pool in each.backends for one in pool.servers]
                if sum(one.up == up for one in servers) == self._tenants:
                    return
                # as an agent does: HAProxy drops events that the daemon is not quick enough to read
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(OBSERVE_SECONDS):
                        await self._group.wait_for_change()

    async def _slowest_answer(self) -> float:
        """Milliseconds of the daemon's slowest answer until this is cancelled."""
        slowest = 0.0
        with contextlib.suppress(asyncio.CancelledError):
            while True:
                began = time.monotonic()
                await self._group.check()
                slowest = max(slowest, 1000 * (time.monotonic() - began))
                await asyncio.sleep(ASK_SECONDS)
        return slowest


async def _hang_up(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


async def measure(tenants: int, *, tls: bool) -> str:
    """Row of the table without its first cells."""
    with tempfile.TemporaryDirectory(prefix="evenkeel-density-") as directory:
        workspace = Workspace(Path(directory))
        side = HaproxyDevices(workspace)
        try:
            return await Bench(side, workspace, tenants, tls=tls).run()
        finally:
            for process in workspace.processes.values():
                await asyncio.to_thread(process.kill)
            await asyncio.to_thread(side.close)


def measured_in(tree: Path, tenants: int, *, tls: bool) -> str:
    """The same in a process that imports from a source tree."""
    paths = os.pathsep.join([str(tree / "src"), str(tree / "packages" / "icontrol-emulator" / "src"), str(tree)])
    command = [sys.executable, __file__, "--row", str(tenants), *(["--tls"] if tls else [])]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": paths}, cwd=tree, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout.strip().splitlines()[-1]


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tenants", type=int, nargs="+", default=[50, 200, 400], help="default: %(default)s")
    parser.add_argument("--tree", type=Path, action="append", help="a source tree, such as a worktree of git")
    parser.add_argument("--tls", action="store_true", help="listeners terminate TLS")
    parser.add_argument("--row", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.row:
        print(asyncio.run(measure(options.row, tls=options.tls)))
        return
    print(HEAD, flush=True)
    for tenants in options.tenants:
        for tree in options.tree or [Path.cwd()]:
            row = measured_in(tree.resolve(), tenants, tls=options.tls)
            print(f"| {tree.resolve().name} | {tenants} | {row} |", flush=True)


if __name__ == "__main__":
    main()
