"""Two hosts on the clients' and the members' networks, with keepalived (VRRP) and conntrackd from Debian."""

import asyncio
import contextlib
import functools
import shutil
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from tests.haproxyd.layer4.lab import CLIENT, VIP, Lab, in_namespace, ip, remove_namespace
from tests.waiting import eventually

GATEWAY = "10.91.0.254"
"""The members' way to clients, which moves with the VIP."""
_KEEPALIVED = """
vrrp_instance pair {{
    interface eth0
    state BACKUP
    virtual_router_id 51
    priority {priority}
    advert_int 0.1
    version 3
    unicast_src_ip 10.90.0.{own}
    unicast_peer {{
        10.90.0.{other}
    }}
    virtual_ipaddress {{
        {vip}/32
        {gateway}/24 dev eth1
    }}
}}
"""
_CONNTRACKD = """
Sync {{
    Mode NOTRACK {{
        DisableExternalCache on
    }}
    UDP {{
        IPv4_address 10.91.0.{own}
        IPv4_Destination_Address 10.91.0.{other}
        Port 3780
        Interface eth1
        Checksum on
    }}
    Options {{
        TCPWindowTracking off
    }}
}}
General {{
    HashSize 8192
    HashLimit 65536
    Syslog off
    LockFile {folder}/lock
    UNIX {{
        Path {folder}/ctl
    }}
    NetlinkBufferSize 2097152
    NetlinkBufferSizeMaxGrowth 8388608
    Filter From Userspace {{
        Protocol Accept {{
            TCP
            UDP
        }}
    }}
}}
"""
NUMBERS = (11, 12)
"""The last part of the hosts' addresses; the first host has the higher priority."""


def missing(*programs: str) -> str:
    """The programs that are not installed, for a skipped test; empty if all are."""
    return ", ".join(name for name in programs if shutil.which(name) is None)


class PairLab(Lab):
    """A lab with two hosts; :attr:`host` is the one with the VIP."""

    def __init__(self) -> None:
        super().__init__()
        self.hosts = (f"{self.host}a", f"{self.host}b")
        self.host = self.hosts[0]

    def start(self) -> None:
        for name in (self.client, self.servers, *self.hosts):
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        for where, address in ((self.client, CLIENT), (self.servers, "10.91.0.2")):
            ip("-n", where, "link", "add", "eth0", "type", "bridge")
            ip("-n", where, "address", "add", f"{address}/24", "dev", "eth0")
            ip("-n", where, "link", "set", "eth0", "up")
        for host, number in zip(self.hosts, NUMBERS, strict=True):
            for link, where, network in (("eth0", self.client, "10.90.0"), ("eth1", self.servers, "10.91.0")):
                port = f"port{number}"
                ip("-n", where, "link", "add", port, "type", "veth", "peer", "name", link, "netns", host)
                ip("-n", where, "link", "set", port, "master", "eth0", "up")
                ip("-n", host, "address", "add", f"{network}.{number}/24", "dev", link)
                ip("-n", host, "link", "set", link, "up")
            in_namespace(host, functools.partial(Path("/proc/sys/net/ipv4/ip_forward").write_text, "1"))
        ip("-n", self.client, "route", "add", VIP, "dev", "eth0")
        ip("-n", self.servers, "route", "add", "default", "via", GATEWAY)

    async def close(self) -> None:
        for name in self.hosts:
            remove_namespace(name)
        await super().close()

    @contextlib.asynccontextmanager
    async def keepalived(self, folder: Path) -> AsyncIterator[None]:
        """VRRP on both hosts; the first one has the VIP when this begins."""
        commands = []
        for place, (own, other) in enumerate((NUMBERS, NUMBERS[::-1])):
            file = folder / f"keepalived-{own}.conf"
            text = _KEEPALIVED.format(priority=110 - place, own=own, other=other, vip=VIP, gateway=GATEWAY)
            file.write_text(text)
            pids = ("-p", f"{folder}/{own}.pid", "-r", f"{folder}/{own}-vrrp.pid")
            commands.append(("keepalived", "--dont-fork", "--vrrp", "--use-file", str(file), *pids))
        async with self._running(commands):
            await eventually(lambda: self.has_vip(self.hosts[0]) and not self.has_vip(self.hosts[1]))
            yield

    @contextlib.asynccontextmanager
    async def conntrackd(self, folder: Path) -> AsyncIterator[None]:
        """States of connections are shared."""
        commands = []
        for own, other in (NUMBERS, NUMBERS[::-1]):
            place = folder / f"conntrackd-{own}"
            place.mkdir()
            (place / "conf").write_text(_CONNTRACKD.format(own=own, other=other, folder=place))
            commands.append(("conntrackd", "-C", str(place / "conf")))
        async with self._running(commands):
            await eventually(lambda: all((folder / f"conntrackd-{own}" / "ctl").exists() for own in NUMBERS))
            yield

    @contextlib.asynccontextmanager
    async def _running(self, commands: Sequence[Sequence[str]]) -> AsyncIterator[None]:
        started = []
        try:
            for host, command in zip(self.hosts, commands, strict=True):
                words = ("ip", "netns", "exec", host, *command)
                quiet = asyncio.subprocess.DEVNULL
                started.append(await asyncio.create_subprocess_exec(*words, stdout=quiet, stderr=quiet))
            yield
        finally:
            for process in started:
                with contextlib.suppress(ProcessLookupError):
                    process.terminate()
                await process.wait()

    def has_vip(self, host: str) -> bool:
        """Whether the host has the VIP."""
        return in_namespace(host, lambda: VIP in Path("/proc/thread-self/net/fib_trie").read_text())

    def lose(self, host: str) -> None:
        """Cut a host off from both networks, as if it had lost its power."""
        number = NUMBERS[self.hosts.index(host)]
        for where in (self.client, self.servers):
            ip("-n", where, "link", "set", f"port{number}", "down")
