"""Files of one host with a stock Octavia whose provider is Even Keel.

The demo and the tests start Octavia from them. Octavia is in a virtual environment of its own; our provider driver and
provider agent come from this repository's folder, with the entry points of their pyproject.toml.
"""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

REPOSITORY_DIR = Path(__file__).parents[4]
"""Root directory of this repository's checkout."""
DRIVER_PACKAGE = REPOSITORY_DIR / "packages" / "evenkeel-octavia"
EntryPoints = Mapping[str, Mapping[str, str]]
"""Entry points as ``{group: {name: module and attribute}}``."""
DRIVER_AGENT_SOCKETS = ("status", "stats", "get")
"""Names of driver-agent's sockets, ``NAME.sock`` in the home directory; they exist once it serves."""

_CONFIGURATION_TEXT = """
[DEFAULT]
debug = False
[api_settings]
auth_strategy = {strategy}
enabled_provider_drivers = {providers}
default_provider_driver = {default}
[database]
connection = {database}
[controller_worker]
network_driver = network_noop_driver
compute_driver = compute_noop_driver
amphora_driver = amphora_noop_driver
image_driver = image_noop_driver
volume_driver = volume_noop_driver
[certificates]
cert_manager = noop_cert_manager
[driver_agent]
status_socket_path = {home}/status.sock
stats_socket_path = {home}/stats.sock
get_socket_path = {home}/get.sock
enabled_provider_agents = {agent}
[oslo_policy]
enforce_scope = False
[evenkeel]
providers = {environments}
{options}
{login}
"""
_NETWORK_DRIVER_SOURCE = """
from octavia.network.drivers.noop_driver import driver

create_engine = driver.create_engine
driver.create_engine = lambda url: create_engine("sqlite:///{home}/network.db")  # else a file in /tmp for all
"""
_DISTINCT_VIPS_SOURCE = """
import ipaddress
import random

from octavia.network.drivers.noop_driver import driver

allocate = driver.NoopManager.allocate_vip


def allocate_vip(self, load_balancer):
    vip, more = allocate(self, load_balancer)
    if not (load_balancer.vip and load_balancer.vip.ip_address):
        vip.ip_address = str(ipaddress.ip_address("10.0.0.1") + random.randrange(2**24 - 2))
    return vip, more


driver.NoopManager.allocate_vip = allocate_vip
"""
"""Octavia's no-op network gives all VIPs one address, which no Neutron does."""
_API_PROGRAM = """
import sys

sys.argv = ["octavia-api", "--config-file", "{file}"]  # octavia.wsgi.api reads its configuration from it
import own_network
from octavia.wsgi.api import application
"""
_DRIVER_AGENT_PROGRAM = """
import sys

sys.argv = ["octavia-driver-agent", "--config-file", "{file}"]
import own_network
from octavia.cmd.driver_agent import main

main()
"""
_PREPARED_DRIVER_AGENT_PROGRAM = """
import own_network
from evenkeel_octavia.__main__ import main

main(["driver-agent", "--config-file", "{file}"])
"""


class OctaviaFiles:
    """Writes configuration, programs and entry points of an Octavia below ``home``, whose path must be short:
    sockets are in it.

    ``database``: URL of an empty database of MariaDB, for SQLAlchemy; ``environments``: Even Keel's
    environment by provider; ``options``: more of ``[evenkeel]``; ``agent``: the enabled provider agents;
    ``more_drivers``: further providers; ``login``: the section by which Octavia validates tokens at a
    Keystone, empty without one.
    """

    def __init__(
        self,
        home: Path,
        *,
        database: str,
        environments: Mapping[str, str],
        options: Mapping[str, object],
        agent: str = "evenkeel_agent",
        more_drivers: Sequence[str] = (),
        login: str = "",
    ) -> None:
        self.home = home
        self.configuration = home / "octavia.conf"
        self.driver_agent = home / "run_driver_agent.py"
        self.prepared_driver_agent = home / "run_prepared_driver_agent.py"
        self.configuration.write_text(
            _CONFIGURATION_TEXT.format(
                strategy="keystone" if login else "noauth",
                login=login,
                providers=", ".join(f"{name}: a provider" for name in (*environments, *more_drivers)),
                default=next(iter(environments)),
                database=database,
                home=home,
                agent=agent,
                environments=", ".join(f"{name}: {place}" for name, place in environments.items()),
                options="\n".join(f"{name} = {value}" for name, value in options.items()),
            )
        )
        programs = {
            "own_network": _NETWORK_DRIVER_SOURCE + _DISTINCT_VIPS_SOURCE,
            "serve_octavia": _API_PROGRAM,
            self.driver_agent.stem: _DRIVER_AGENT_PROGRAM,
            self.prepared_driver_agent.stem: _PREPARED_DRIVER_AGENT_PROGRAM,
        }
        for name, text in programs.items():
            (home / f"{name}.py").write_text(text.format(file=self.configuration, home=home))
        project = tomllib.loads((DRIVER_PACKAGE / "pyproject.toml").read_text())["project"]
        self.write_entry_points("evenkeel_octavia", project["entry-points"])

    @property
    def plugins(self) -> Path:
        """Folder of written entry points, including those of ``evenkeel-octavia register-providers``."""
        return self.home / "plugins"

    @property
    def variables(self) -> dict[str, str]:
        """Environment variables of all processes of this Octavia."""
        return {
            "PYTHONPATH": f"{self.plugins}:{DRIVER_PACKAGE / 'src'}:{self.home}",
            "TMPDIR": str(self.home),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def api_command(self, programs: Path, port: int, workers: int) -> list[str]:
        """Return the command that serves Octavia's API at ``port`` of 127.0.0.1. ``programs``: directory of
        the virtual environment's commands.
        """
        return [
            *(str(programs / "gunicorn"), "--workers", str(workers), "--preload"),
            *("--worker-class", "gthread", "--threads", "4"),
            *("--bind", f"127.0.0.1:{port}", "--timeout", "120", "serve_octavia:application"),
        ]

    def write_entry_points(self, name: str, groups: EntryPoints) -> None:
        """Declare entry points for the processes, as an installed distribution named ``name`` would. Raises
        :class:`FileExistsError` for a name that is declared.
        """
        folder = self.plugins / f"{name}-0.dist-info"
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0\n")
        lines: list[str] = []
        for group, points in groups.items():
            lines += [f"[{group}]", *(f"{name} = {place}" for name, place in points.items())]
        (folder / "entry_points.txt").write_text("\n".join([*lines, ""]))

    def sockets_exist(self) -> bool:
        """Whether all sockets of driver-agent exist, so that it serves."""
        return all((self.home / f"{name}.sock").exists() for name in DRIVER_AGENT_SOCKETS)

    def remove_sockets(self) -> None:
        """Remove the sockets that an ended driver-agent has left."""
        for name in DRIVER_AGENT_SOCKETS:
            (self.home / f"{name}.sock").unlink(missing_ok=True)
