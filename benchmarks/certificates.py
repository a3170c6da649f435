"""How soon a renewed certificate is served, when a partition holds many.

    python -m benchmarks.certificates [--certificates 1000] [--listeners 10] [--renewals 100] [--haproxy PATH]

A daemon's process with a real HAProxy; the change goes to it over HTTPS, as from an agent's driver, with the content of
the one certificate and the identities of the others. Measures until the daemon has answered, which it does when
HAProxy shows the new one, and looks that it does. Prints markdown. Run it at the top of the source tree.
"""

import argparse
import asyncio
import os
import sys
import tempfile
from pathlib import Path

from benchmarks import reaction
from evenkeel.haproxyd import wire
from tests.haproxyd.daemonworld import Client, Daemon
from tests.haproxyd.tlsworld import certificate, file, shown, tls, unsent
from tests.haproxyd.world import Member, free_vip

PARTITION = "bench_many"
AIM_MILLISECONDS = "50"


class Listeners:
    """Load balancers with one listener each, and their certificates."""

    def __init__(self, member: Member, certificates: int, listeners: int) -> None:
        self._member = member
        self.vips = [free_vip() for _ in range(listeners)]
        self._files = [
            [self._file(listener, number) for number in range(certificates // listeners)]
            for listener in range(listeners)
        ]

    @staticmethod
    def _file(listener: int, number: int, serial: int = 1) -> wire.File:
        name = f"n{number}.l{listener}.test"
        return file(f"{name}.pem", certificate(name, serial=serial), sha256=f"{name}-{serial}")

    def all(self) -> tuple[wire.LoadBalancerConfig, ...]:
        """With their contents."""
        return tuple(tls(f"lb{each}", vip, self._member, *self._files[each]) for each, vip in enumerate(self.vips))

    def renewed(self, listener: int, number: int, serial: int) -> wire.LoadBalancerConfig:
        """One, with the content of one certificate, which is another than before."""
        files = self._files[listener]
        files[number] = self._file(listener, number, serial)
        sent = [one if each == number else unsent(one) for each, one in enumerate(files)]
        return tls(f"lb{listener}", self.vips[listener], self._member, *sent, revision=serial)


async def renewals(client: Client, listeners: Listeners, count: int, each: int) -> list[float]:
    """Seconds of each. Raises :class:`RuntimeError` if one took a reload, or is not served."""
    found = []
    loop = asyncio.get_running_loop()
    guard = wire.GuardState(epoch=1, session_id="session-1")
    taken = await client.ask(wire.GuardState, "POST", f"/v1/partitions/{PARTITION}/guard", guard)
    owned = {"epoch": 1, "session_id": "session-1", "state_id": taken.state_id}
    for serial in range(2, count + 2):
        listener, number = serial % len(listeners.vips), serial * 7 % each
        change = wire.PartitionChange(**owned, load_balancers=(listeners.renewed(listener, number, serial),))
        began = loop.time()
        receipt = await client.ask(wire.Receipt, "PATCH", f"/v1/partitions/{PARTITION}", change)
        found.append(loop.time() - began)
        name = f"n{number}.l{listener}.test"
        if receipt.how != "runtime" or await shown(listeners.vips[listener], name) != (name, serial):
            raise RuntimeError(f"not renewed at runtime: {receipt}")
    return found


async def measure(options: argparse.Namespace, folder: Path) -> list[str]:
    """A table."""
    member = Member("a")
    await member.start()
    daemon = Daemon(folder, **({"haproxy": options.haproxy} if options.haproxy else {}))
    await daemon.start()
    try:
        async with daemon.client() as client:
            listeners = Listeners(member, options.certificates, options.listeners)
            await client.patch(PARTITION, wire.PartitionChange(epoch=1, load_balancers=listeners.all()))
            each = options.certificates // options.listeners
            seconds = await renewals(client, listeners, options.renewals, each)
    finally:
        daemon.clean_up()
        await member.stop()
        await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}), return_exceptions=True)
    what = f"daemon: one of {each * options.listeners} certificates is renewed, {options.listeners} listeners"
    return [
        *reaction.HEAD,
        reaction.row(f"{what} (load {os.getloadavg()[0]:.1f})", seconds, AIM_MILLISECONDS),
    ]


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--certificates", type=int, default=1000)
    parser.add_argument("--listeners", type=int, default=10, help="that share them, each of one load balancer")
    parser.add_argument("--renewals", type=int, default=100)
    parser.add_argument("--haproxy", type=Path, help="the haproxy to run; else the one the daemon finds")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="evenkeel-") as folder:
        print("\n".join(asyncio.run(measure(options, Path(folder)))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
