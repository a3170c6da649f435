"""What management costs HAProxy, and how soon changes reach it.

    python -m benchmarks.dataplane [--pairs 8] [--seconds 4] [--load-balancers 100] [--haproxy PATH] [--wrk PATH]
                                   [--only-services]

Everything is real: a controller, an agent, the daemon, HAProxy. Measures, each with the load average of the moment:
requests a second through a managed HAProxy against the same binary with a small file written by hand, same members,
without TLS and with it (a connection each is a handshake each), alternating windows (needs wrk; members are a HAProxy
that answers itself); the same with all parts of enhanced services against the same lines by hand, and what a rate limit
costs; how soon a change of a member and of a listener is acknowledged by the daemon and shown ACTIVE by
the API when the partition holds many load balancers; and how soon after HAProxy's verdict the API shows a member's
failure. Prints markdown. Run it at the top of the source tree; compare ratios between machines, not figures.
"""

import argparse
import asyncio
import os
import random
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import aiohttp

from benchmarks import reaction, services, throughput
from evenkeel.cli.client import API_PATH
from evenkeel.demo.addresses import VipAddress, choose_vip_address
from evenkeel.demo.authority import CertificateAuthority, store_certificate
from evenkeel.demo.cluster import Cluster, agent_name
from evenkeel.demo.device_kinds.haproxy import HaproxyDevices
from evenkeel.demo.device_kinds.leftovers import haproxy_pids
from evenkeel.haproxyd.haproxy.binary import find_binary
from tests.acceptance.tenant import LBAAS, Tenant, settled
from tests.acceptance.verdicts import MONITOR, failure_seconds
from tests.acceptance.websites import create, website
from tests.waiting import eventually

ENVIRONMENT = "bench"
HOST = "host-1"
MEMBERS = 2
TARGET_HOUSE, HAND_HOUSE, WATCHED_HOUSE, SERVED_HOUSE, LIMITED_HOUSE, PLAIN_HOUSE = 251, 252, 253, 250, 249, 248


class Bench:
    """A cluster with one agent."""

    def __init__(self, cluster: Cluster, http: aiohttp.ClientSession, options: argparse.Namespace) -> None:
        assert isinstance(cluster.side, HaproxyDevices)
        self._cluster = cluster
        self._side = cluster.side
        self._http = http
        self._options = options
        self._place: VipAddress = choose_vip_address(random.Random())
        self._network = self._place.address.rpartition(".")[0]
        self._subnet_id = ""
        self._certificate_file = cluster.directory / "by-hand.pem"

    async def prepare(self) -> None:
        """The processes and an address pool."""
        await self._cluster.start_devices()
        await self._cluster.start_controller(1)
        await asyncio.gather(self._cluster.start_agent(HOST), *(self._cluster.start_backend(n) for n in (1, 2)))
        body = {"subnet": {"name": "vips", "cidr": self._place.cidr}}
        made = await asyncio.to_thread(self._cluster.client().post, f"{API_PATH}/subnets", body)
        self._subnet_id = made["subnet"]["id"]

    def tenant(self, project_id: str) -> Tenant:
        """Somebody of a project."""
        return Tenant(self._http, self._cluster.controllers, project_id)

    # -- requests a second

    async def requests_a_second(self) -> list[str]:
        """A table."""
        binary = (await find_binary(self._options.haproxy)).path
        ports = throughput.free_ports(MEMBERS)
        managed = await self._managed(ports)
        address, port, tls_port = f"{self._network}.{HAND_HOUSE}", self._place.port, self._place.https_port
        directory, start = self._cluster.directory, throughput.haproxy
        answering, minimal = throughput.members(ports), throughput.minimal(address, port, ports)
        minimal += throughput.minimal_tls(address, tls_port, self._certificate_file)
        async with (
            start(binary, directory, "members", answering, address="127.0.0.1", port=ports[0]) as serving,
            start(binary, directory, "by-hand", minimal, address=address, port=port) as process,
        ):
            throughput.keep_to([serving.pid], throughput.Places().members)
            hand = throughput.Target("by hand", address, port, lambda: [process.pid])
            found = [*throughput.HEAD, *await self._compared(managed, hand, "")]
            tls = [replace(one, port=tls_port, scheme="https") for one in (managed, hand)]
            return [*found, *await self._compared(*tls, "TLS, ")]

    async def _managed(self, ports: list[int]) -> throughput.Target:
        tenant = self.tenant("fast")
        address = f"{self._network}.{TARGET_HOUSE}"
        await create(tenant, website(self._subnet_id, address, {"HTTP": self._place.port}, ports))
        await self._speak_tls(tenant)
        await settled(tenant)
        folder = str(self._cluster.directory / "devices" / "partitions" / f"{ENVIRONMENT}_fast")
        return throughput.Target("managed", address, self._place.port, lambda: haproxy_pids(folder))

    # -- enhanced services

    async def enhanced_services(self) -> list[str]:
        """A table: all parts against the same lines by hand, and a rate limit against none, both managed."""
        binary = (await find_binary(self._options.haproxy)).path
        ports = throughput.free_ports(MEMBERS)
        await eventually(self._offered, within_seconds=60.0)
        served = await self._served("served", SERVED_HOUSE, ports, "every")
        limited = await self._served("limited", LIMITED_HOUSE, ports, "limited")
        plain = await self._served("plain", PLAIN_HOUSE, ports)
        address, port = f"{self._network}.{HAND_HOUSE}", self._place.port
        directory, start = self._cluster.directory, throughput.haproxy
        lines = services.by_hand(self._partition("served"), address, port, directory)
        async with (
            start(
                binary, directory, "members", throughput.members(ports), address="127.0.0.1", port=ports[0]
            ) as serving,
            start(binary, directory, "by-hand", lines, address=address, port=port) as process,
        ):
            throughput.keep_to([serving.pid], throughput.Places().members)
            hand = throughput.Target("by hand", address, port, lambda: [process.pid])
            found = [*throughput.HEAD, *await self._compared(served, hand, "all parts, ")]
            return [*found, *await self._compared(limited, plain, "a rate limit against none, ")]

    async def _offered(self) -> bool:
        """Whether the agent has reported its enhanced services."""
        answer = await asyncio.to_thread(self._cluster.client().get, f"{API_PATH}/enhanced_services")
        return "every" in str(answer)

    async def _served(self, project: str, house: int, ports: list[int], name: str = "") -> throughput.Target:
        tenant = self.tenant(project)
        address = f"{self._network}.{house}"
        fields = website(self._subnet_id, address, {"HTTP": self._place.port}, ports)
        await create(tenant, {**fields, "tags": [f"esd:{name}"] if name else []})
        await settled(tenant)
        folder = str(self._partition(project))
        return throughput.Target(project, address, self._place.port, lambda: haproxy_pids(folder))

    def _partition(self, project: str) -> Path:
        return self._cluster.directory / "devices" / "partitions" / f"{ENVIRONMENT}_{project}"

    async def _speak_tls(self, tenant: Tenant) -> None:
        """A listener over TLS in front of the same pool; by hand the same certificate is used."""
        issued = CertificateAuthority().issue("www.example.org")
        self._certificate_file.touch(mode=0o600)
        self._certificate_file.write_text(issued.certificate + issued.private_key)
        client = self._cluster.client()
        reference = await asyncio.to_thread(store_certificate, client, tenant.project_id, "www", issued)
        listener = {
            "loadbalancer_id": tenant.load_balancer_id,
            "protocol": "TERMINATED_HTTPS",
            "protocol_port": self._place.https_port,
            "default_tls_container_ref": reference,
            "default_pool_id": tenant.pool_id,
        }
        await tenant.surely("POST", f"{LBAAS}/listeners", {"listener": listener})

    async def _compared(self, managed: throughput.Target, by_hand: throughput.Target, kind: str) -> list[str]:
        found = []
        for what, keep in (("kept connections", True), ("a connection each", False)):
            compared = await throughput.compare(
                self._options.wrk,
                managed,
                by_hand,
                pairs=self._options.pairs,
                seconds=self._options.seconds,
                keep=keep,
            )
            found += throughput.lines(compared, f"{kind}{what} (load {load()})")
        return found

    # -- changes

    async def changes(self) -> list[str]:
        """A table."""
        tenants = [self.tenant("many") for _ in range(self._options.load_balancers)]
        backends = list(self._cluster.backend_ports)
        await reaction.populate(tenants, self._subnet_id, self._network, self._place.port, backends)
        found = list(reaction.HEAD)
        found += await self._through_the_api(tenants[0])
        self._cluster.stop(agent_name(HOST))
        found += await self._at_the_daemon()
        await self._cluster.start_again(agent_name(HOST))
        return found

    async def _through_the_api(self, tenant: Tenant) -> list[str]:
        listeners = await tenant.surely("GET", f"{LBAAS}/listeners?loadbalancer_id={tenant.load_balancer_id}")
        members = (await tenant.surely("GET", f"{LBAAS}/pools/{tenant.pool_id}/members"))["members"]
        member = f"/pools/{tenant.pool_id}/members/{members[0]['id']}"
        listener = f"/listeners/{listeners['listeners'][0]['id']}"
        weights = await reaction.through_the_api(tenant, member, "member", "weight", list(range(2, 52)))
        times = list(range(60_000, 60_030))
        timeouts = await reaction.through_the_api(tenant, listener, "listener", "timeout_client_data", times)
        return [
            reaction.row(f"API to ACTIVE: a member's weight (load {load()})", weights),
            reaction.row("API to ACTIVE: a listener's time-out", timeouts),
        ]

    async def _at_the_daemon(self) -> list[str]:
        held = await asyncio.to_thread(self._side.daemon.partitions)
        partition = reaction.Partition(self._side, next(one for one in held if one.name == f"{ENVIRONMENT}_many"))
        try:
            weights = await partition.repeat(reaction.other_weight, "runtime", 200)
            in_a_row = await partition.repeat(reaction.other_weight, "runtime", 200, pause_seconds=0)
            members = await partition.repeat(reaction.member_comes_or_goes, "runtime", 100)
            timeouts = await partition.repeat(reaction.other_timeout, "reload", 50)
        finally:
            await partition.close()
        return [
            reaction.row(f"daemon: a member's weight (load {load()})", weights, "10"),
            reaction.row("daemon: the same, one right after the other", in_a_row),
            reaction.row("daemon: a member comes or goes", members, "10"),
            reaction.row("daemon: a listener's time-out", timeouts, "300"),
        ]

    # -- verdicts

    async def verdicts(self) -> list[str]:
        """A table."""
        tenant = self.tenant("watched")
        place = {"HTTP": self._place.port}
        address = f"{self._network}.{WATCHED_HOUSE}"
        await create(tenant, website(self._subnet_id, address, place, self._cluster.backend_ports, monitor=MONITOR))
        await settled(tenant)
        seen = [await failure_seconds(self._cluster, tenant, 2) for _ in range(self._options.verdicts)]
        down, up = ([one[which] for one in seen] for which in (0, 1))
        return [
            reaction.row(f"HAProxy's verdict to the API: down (load {load()})", down, "1000"),
            reaction.row("HAProxy's verdict to the API: up", up, "1000"),
        ]


def load() -> str:
    """Average over the last minute."""
    return f"{os.getloadavg()[0]:.1f}"


async def run(options: argparse.Namespace) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory(prefix="evenkeel-dataplane-") as directory, services.log_server() as log_port:
        device = {"haproxyd": {"haproxy": options.haproxy}}
        esd_dir = Path(directory) / "services"
        services.write_definitions(esd_dir, log_port)
        agent = {"haproxy": {"esd_dir": str(esd_dir), "access_log_networks": "127.0.0.0/8"}}
        cluster = Cluster(
            Path(directory), environment=ENVIRONMENT, device="haproxy", device_options=device, agent_options=agent
        )
        try:
            async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=60)) as http:
                bench = Bench(cluster, http, options)
                await bench.prepare()
                print(await asyncio.to_thread(cluster.side.described), end="\n\n")
                if options.wrk:
                    print("\n".join([*await bench.enhanced_services(), ""]), flush=True)
                if options.only_services:
                    return
                if options.wrk:
                    print("\n".join([*await bench.requests_a_second(), ""]), flush=True)
                print("\n".join([*await bench.changes(), *await bench.verdicts()]), flush=True)
        finally:
            await asyncio.to_thread(cluster.close)


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=8, help="of windows")
    parser.add_argument("--seconds", type=float, default=4.0, help="that a window takes")
    parser.add_argument("--load-balancers", type=int, default=100, help="in the partition that is changed")
    parser.add_argument("--verdicts", type=int, default=5, help="how often a member fails")
    parser.add_argument("--only-services", action="store_true", help="measure enhanced services and nothing else")
    parser.add_argument("--haproxy", type=Path, help="the haproxy to run; else the one the daemon finds")
    parser.add_argument("--wrk", default=shutil.which("wrk"), help="the load generator; else the one in PATH")
    options = parser.parse_args()
    if not options.wrk:
        print("no wrk in PATH (Debian: apt-get install wrk): requests a second are not measured", file=sys.stderr)
    asyncio.run(run(options))
    return 0


if __name__ == "__main__":
    sys.exit(main())
