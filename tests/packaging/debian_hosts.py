"""Bare Debian hosts with systemd, each a container with a network of its own, joined by one switch and router.

Facts: systemd-nspawn boots a directory (``--boot``) in a prepared network namespace (``--network-namespace-path``);
debootstrap's minbase has no init.
"""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

BASE_PACKAGES = "systemd-sysv,dbus,iproute2,openssh-server,ca-certificates"
COMMAND_SECONDS = 900
BOOT_SECONDS = 180
CLEAN = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8"}
INSTALLS = {"DEBIAN_FRONTEND": "noninteractive", "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "/wheels"}


def run(*command: str, timeout: float = COMMAND_SECONDS) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


def can_boot() -> bool:
    return os.geteuid() == 0 and all(map(shutil.which, ("debootstrap", "systemd-nspawn", "nsenter", "ip")))


@dataclass(frozen=True)
class Host:
    """A booted host; ``leader``: its first process, as the outside numbers it."""

    name: str
    leader: int

    def start(self, script: str, *, outside_network: bool = False) -> subprocess.CompletedProcess[str]:
        """Runs a script of root's; with the outside's network, so that packages can be fetched, if told so."""
        spaces = ["--mount", "--uts", "--ipc", "--pid", *([] if outside_network else ["--net"])]
        variables = [f"{name}={value}" for name, value in (CLEAN | INSTALLS).items()]
        command = ["nsenter", "--target", str(self.leader), *spaces, "--", "env", "-i", *variables]
        return subprocess.run(
            [*command, "bash", "-eu", "-o", "pipefail", "-c", f"cd /root\n{script}"],
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            stdin=subprocess.DEVNULL,
        )

    def run(self, script: str, *, outside_network: bool = False) -> str:
        done = self.start(script, outside_network=outside_network)
        assert done.returncode == 0, f"{self.name}: {script}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
        return done.stdout


def make_base(folder: Path, *packages: str) -> Path:
    """A Debian 12 whose root reaches its copies by ssh; ``packages``: more than it needs for that."""
    base = folder / "base"
    included = ",".join((BASE_PACKAGES, *packages))
    run("debootstrap", "--variant=minbase", f"--include={included}", "bookworm", str(base))
    ssh = base / "root" / ".ssh"
    ssh.mkdir(mode=0o700, exist_ok=True)
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(ssh / "id_ed25519"))
    shutil.copy(ssh / "id_ed25519.pub", ssh / "authorized_keys")
    (ssh / "config").write_text("StrictHostKeyChecking no\nLogLevel ERROR\n")
    (base / "etc" / "hostname").unlink(missing_ok=True)
    (base / "etc" / "machine-id").write_text("")
    for proxy in Path("/etc/apt/apt.conf.d").glob("*proxy*"):
        shutil.copy(proxy, base / "etc" / "apt" / "apt.conf.d")
    return base


@contextmanager
def networks(prefix: str, addresses: Mapping[str, str], routes: Mapping[str, str]) -> Iterator[None]:
    """A network namespace for each address (name to address/length), and one that bridges and routes between them.

    The first address of each network is the router's; ``routes``: subnet to the next hop.
    """
    switch = f"{prefix}-switch"
    names = [switch, *(f"{prefix}-{name}" for name in addresses)]
    try:
        for name in names:
            run("ip", "netns", "add", name)
            run("ip", "-n", name, "link", "set", "lo", "up")
        run("ip", "-n", switch, "link", "add", "br0", "type", "bridge")
        run("ip", "-n", switch, "link", "set", "br0", "up")
        run("ip", "netns", "exec", switch, "sysctl", "-q", "-w", "net.ipv4.ip_forward=1")
        routers = {f"{address.rpartition('.')[0]}.1" for address in addresses.values()}
        for router in routers:
            run("ip", "-n", switch, "address", "add", f"{router}/24", "dev", "br0")
        for number, (name, address) in enumerate(addresses.items()):
            inner = f"{prefix}-{name}"
            run("ip", "-n", switch, "link", "add", f"v{number}", "type", "veth", "peer", "name", "eth0", "netns", inner)
            run("ip", "-n", switch, "link", "set", f"v{number}", "master", "br0", "up")
            run("ip", "-n", inner, "address", "add", address, "dev", "eth0")
            run("ip", "-n", inner, "link", "set", "eth0", "up")
            run("ip", "-n", inner, "route", "add", "default", "via", f"{address.rpartition('.')[0]}.1")
        for subnet, hop in routes.items():
            run("ip", "-n", switch, "route", "add", subnet, "via", hop)
        yield
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)


def leader_of(process: subprocess.Popen[bytes], log: Path) -> int:
    """The first process of a container, when its system is up."""
    deadline = time.monotonic() + BOOT_SECONDS
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text(errors="replace")[-3000:]
        for leader in map(int, children.read_text().split()):
            up = Host("?", leader).start("systemctl is-system-running --wait || systemctl list-units --failed").stdout
            if "running" in up or "degraded" in up:
                return leader
        time.sleep(0.2)
    raise AssertionError(f"not booted in {BOOT_SECONDS} s: {log.read_text(errors='replace')[-3000:]}")


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends a container: its processes die with its first one."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if process.poll() is None:
        for leader in map(int, children.read_text().split()):
            os.kill(leader, signal.SIGKILL)
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(30)


@contextmanager
def booted(name: str, namespace: str, base: Path, folder: Path, read_only: Mapping[Path, str]) -> Iterator[Host]:
    """A copy of the base (in memory), booted; ``read_only``: what of the outside it sees, and where."""
    root, upper, log = folder / name, folder / f"{name}-upper", folder / f"{name}.log"
    root.mkdir()
    upper.mkdir()
    with ExitStack() as opened:
        run("mount", "-t", "tmpfs", "tmpfs", str(upper))
        opened.callback(run, "umount", "--lazy", str(upper))
        (upper / "upper").mkdir()
        (upper / "work").mkdir()
        layers = f"lowerdir={base},upperdir={upper / 'upper'},workdir={upper / 'work'}"
        run("mount", "-t", "overlay", "overlay", "-o", layers, str(root))
        opened.callback(run, "umount", "--lazy", str(root))
        bound = [f"--bind-ro={source}:{target}" for source, target in read_only.items()]
        # its services may set routes, which systemd-nspawn allows only in networks that it makes itself
        may = "--capability=CAP_NET_ADMIN"
        machine = [
            may,
            f"--directory={root}",
            f"--machine={name}",
            f"--hostname={name}",
            "--register=no",
            "--keep-unit",
        ]
        network = [f"--network-namespace-path=/run/netns/{namespace}", "--resolv-conf=copy-host"]
        with log.open("wb") as output:
            process = subprocess.Popen(
                ["systemd-nspawn", "--boot", "--quiet", "--link-journal=no", *machine, *network, *bound],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        opened.callback(end, process)
        yield Host(name, leader_of(process, log))
