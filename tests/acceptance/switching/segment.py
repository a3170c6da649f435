"""A network segment of namespaces behind a bridge: an amphora with a VIP, a client, and this host, on which ours run.

The amphora is a plain HAProxy with the VIP on its interface. Its bridge port is switched off and on as Neutron's port
security does with what an amphora sends from a VIP that is not, or is again, in its allowed address pairs.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

NETWORK = f"198.18.{os.getpid() % 250}"
VIP, AMPHORA, CLIENT, HOST = (f"{NETWORK}.{number}" for number in (50, 20, 100, 1))
CIDR = f"{NETWORK}.0/24"
PORT = 8080
SAYS_AMPHORA = b"amphora"
DISABLED, FORWARDING = 0, 3
COMMAND_SECONDS = 30
_ANNOUNCE = f"""
import socket, sys
out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
out.bind((sys.argv[1], 0x0806))
mac, vip = out.getsockname()[4], socket.inet_aton("{VIP}")
arp = bytes.fromhex("0001080006040001") + mac + vip + bytes(6) + vip
out.send(b"\\xff" * 6 + mac + bytes.fromhex("0806") + arp)
"""
"""Sends a gratuitous ARP for the VIP by the interface that is its argument."""
_CLIENT = f"""
import http.client, json, sys, time
seen = {{"answers": {{}}, "failed": []}}
until = sys.argv[1]
import pathlib
while not pathlib.Path(until).exists():
    try:
        connection = http.client.HTTPConnection("{VIP}", {PORT}, timeout=5)
        connection.request("GET", "/")
        answer = connection.getresponse()
        words = answer.read().decode().split()
        who = words[0] if answer.status == 200 and words else str(answer.status)
        seen["answers"][who] = seen["answers"].get(who, 0) + 1
        connection.close()
    except OSError as error:
        seen["failed"].append(repr(error))
    time.sleep(0.01)
print(json.dumps(seen))
"""


def obstacle() -> str:
    """Why there cannot be such a segment here; empty if there can."""
    if os.geteuid() != 0 or shutil.which("ip") is None or shutil.which("bridge") is None:
        return "needs root and iproute2"
    probe = f"ekp{os.getpid() % 10_000}"
    made = subprocess.run(["ip", "link", "add", probe, "type", "bridge"], check=False, capture_output=True)
    subprocess.run(["ip", "link", "del", probe], check=False, capture_output=True)
    return "" if made.returncode == 0 else "no bridge can be made here"


class Segment:
    """The segment; :meth:`close` removes it."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        name = str(os.getpid() % 100_000)
        self.bridge = f"ekb{name}"
        self._namespaces = {each: f"ek-{each}-{name}" for each in ("amphora", "client")}
        self._links = {each: f"ek{each[0]}{name}" for each in self._namespaces}
        self._processes: list[subprocess.Popen[bytes]] = []
        self._stop = directory / "client-stops"

    def start(self) -> None:
        """Make the segment, and start the amphora's HAProxy."""
        run("ip", "link", "add", self.bridge, "type", "bridge", "forward_delay", "0")
        run("ip", "address", "add", f"{HOST}/24", "dev", self.bridge)
        run("ip", "link", "set", self.bridge, "up")
        for kind, addresses in (("amphora", (f"{AMPHORA}/24", f"{VIP}/32")), ("client", (f"{CLIENT}/24",))):
            namespace, link = self._namespaces[kind], self._links[kind]
            run("ip", "netns", "add", namespace)
            run("ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", namespace)
            run("ip", "link", "set", link, "master", self.bridge, "up")
            inside = ("ip", "-n", namespace)
            run(*inside, "link", "set", "lo", "up")
            run(*inside, "link", "set", "eth0", "up")
            for address in addresses:
                run(*inside, "address", "add", address, "dev", "eth0")
        self._start_amphora()

    def _start_amphora(self) -> None:
        configuration = self._directory / "amphora.cfg"
        configuration.write_text(
            f"""
defaults
  mode http
  timeout client 30s
  timeout connect 5s
  timeout server 30s
frontend vip
  bind {VIP}:{PORT}
  http-request return status 200 content-type text/plain string "amphora"
"""
        )
        words = ["ip", "netns", "exec", self._namespaces["amphora"], "haproxy", "-db", "-f", str(configuration)]
        self._processes.append(subprocess.Popen(words))

    def silence_amphora(self) -> None:
        """Drop what the amphora sends."""
        run("bridge", "link", "set", "dev", self._links["amphora"], "state", str(DISABLED))

    def let_amphora_speak(self) -> None:
        """Let the amphora send again; it announces its address, as keepalived does every few seconds."""
        run("bridge", "link", "set", "dev", self._links["amphora"], "state", str(FORWARDING))
        run("ip", "netns", "exec", self._namespaces["amphora"], sys.executable, "-c", _ANNOUNCE, "eth0")

    def hook(self) -> Path:
        """A command for ``--hook``: the host has the VIP and announces it, or has it no more."""
        announce = self._directory / "announce.py"
        announce.write_text(_ANNOUNCE)
        made = self._directory / "hook"
        made.write_text(
            f"""#!/bin/sh -e
case "$1" in
to-ours) ip address replace "$3/32" dev {self.bridge}; {sys.executable} {announce} {self.bridge} ;;
to-source) if ip -4 address show dev {self.bridge} | grep -q "$3/32"; then
  ip address del "$3/32" dev {self.bridge}; fi ;;
esac
"""
        )
        made.chmod(0o755)
        return made

    def start_client(self) -> subprocess.Popen[bytes]:
        """A client that opens a connection for each request, one after the other, until :meth:`client_saw`."""
        self._stop.unlink(missing_ok=True)
        words = ["ip", "netns", "exec", self._namespaces["client"], sys.executable, "-c", _CLIENT, str(self._stop)]
        started = subprocess.Popen(words, stdout=subprocess.PIPE)
        self._processes.append(started)
        return started

    def client_saw(self, client: subprocess.Popen[bytes]) -> dict[str, Any]:
        """Stop the client; how often it saw whom, and its failures."""
        self._stop.touch()
        out, _ = client.communicate(timeout=COMMAND_SECONDS)
        seen: dict[str, Any] = json.loads(out)
        return seen

    def close(self) -> None:
        """Stop all processes and remove the segment."""
        for process in self._processes:
            process.kill()
            process.wait()
        # The kernel removes a deleted namespace's links some time later, and the next segment has the same names.
        for link in self._links.values():
            subprocess.run(["ip", "link", "del", link], check=False, capture_output=True)
        for namespace in self._namespaces.values():
            subprocess.run(["ip", "netns", "del", namespace], check=False, capture_output=True)
        subprocess.run(["ip", "link", "del", self.bridge], check=False, capture_output=True)


def run(*words: str) -> None:
    """Run a command. Raises :class:`subprocess.CalledProcessError`."""
    subprocess.run(words, check=True, timeout=COMMAND_SECONDS)
