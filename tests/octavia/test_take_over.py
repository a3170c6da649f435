"""A load balancer of provider ``amphora`` of a stock Octavia becomes one of ours, obeys every command, and goes back.

Octavia's workers and amphorae are not there: its API takes the load balancer, and its rows are set ACTIVE.
"""

import os
import signal
import subprocess
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from evenkeel.cli.client import Client
from evenkeel.cli.moving_in.switching.source import AmphoraSource
from tests.cli.stub import served
from tests.octavia.conftest import IN_OCTAVIA
from tests.octavia.neutron_ports import PortsNeutron
from tests.octavia.world import PROVIDERS, World, page_at
from tests.services.octavia import Octavia
from tests.services.process import spawn
from tests.waiting import until

pytestmark = IN_OCTAVIA
PORT = 18090
COMMAND_SECONDS = 120.0
_SETTLED = """
import sys
from octavia.common import config
from octavia.db import api, models

config.init(["--config-file", sys.argv[1]])
lb, amphora, port = sys.argv[2:]
done = {"provisioning_status": "ACTIVE", "operating_status": "ONLINE"}
with api.session().begin() as session:
    session.query(models.LoadBalancer).filter_by(id=lb).update(done)
    pools = [row.id for row in session.query(models.Pool).filter_by(load_balancer_id=lb)]
    for kind in (models.Listener, models.Pool):
        session.query(kind).filter_by(load_balancer_id=lb).update(done)
    session.query(models.Member).filter(models.Member.pool_id.in_(pools)).update(done)
    session.add(models.Amphora(id=amphora, load_balancer_id=lb, status="ALLOCATED", vrrp_port_id=port))
    session.add(models.AmphoraHealth(amphora_id=amphora, busy=False))
"""
_BUSY = """
import sys
from octavia.common import config
from octavia.db import api, models

config.init(["--config-file", sys.argv[1]])
with api.session().begin() as session:
    print(session.query(models.AmphoraHealth).filter_by(amphora_id=sys.argv[2]).one().busy)
"""


class AmphoraHost(Octavia):
    """A host of the world's Octavia whose API also has the provider ``amphora``, and that knows a Neutron."""

    def __init__(self, world: World, neutron: PortsNeutron) -> None:
        super().__init__(
            world.octavia.venv,
            world.octavia.database,
            environments=PROVIDERS,
            options={"controllers": ", ".join(world.cluster.controllers)},
            more_drivers=("amphora",),
            workers=1,
        )
        # [neutron] itself cannot have the option "endpoint" of auth_type none: Octavia has one with that name
        login = f"auth_type = none\nendpoint = {neutron.url}\n"
        with self.configuration.open("a") as file:
            file.write("\n[DEFAULT]\ntransport_url = fake://\n")
            file.write(f"\n[service_auth]\n{login}")
            file.write(f"\n[neutron]\nauth_section = service_auth\nendpoint_override = {neutron.url}\n")

    def start_driver_agent(self) -> None:
        """Start nothing: the world's other host has the provider agent."""

    def begin(self, *words: str) -> subprocess.Popen[bytes]:
        """A command of ``evenkeel-octavia`` that is not waited for."""
        return spawn(self._words(words), log=self._command_log, env=self._environment(), cwd=self._home)

    def finished(self, *words: str) -> str:
        """All that a command of ``evenkeel-octavia`` says, once it has ended."""
        begun = self._command_log.stat().st_size if self._command_log.exists() else 0
        self.begin(*words).wait(timeout=COMMAND_SECONDS)
        return self._command_log.read_bytes()[begun:].decode()

    def _words(self, words: Sequence[str]) -> list[str | Path]:
        return [self._python, "-m", "evenkeel_octavia", *words, "--config-file", self.configuration]

    @property
    def _command_log(self) -> Path:
        return self._home / "command.log"


@pytest.fixture(scope="module")
def neutron() -> Iterator[PortsNeutron]:
    with served(PortsNeutron()) as running:
        assert isinstance(running, PortsNeutron)
        yield running


@pytest.fixture(scope="module")
def host(world: World, neutron: PortsNeutron) -> Iterator[AmphoraHost]:
    made = AmphoraHost(world, neutron)
    try:
        made.register_providers()
        made.start()
        yield made
    finally:
        made.close()


class Site:
    """A load balancer of provider ``amphora`` that amphorae serve, as far as Octavia knows."""

    def __init__(self, world: World, host: AmphoraHost, neutron: PortsNeutron) -> None:
        members = [{"address": "127.0.0.1", "protocol_port": port} for port in world.cluster.backend_ports]
        pool = {"name": "web", "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN", "members": members}
        listener = {"protocol": "HTTP", "protocol_port": PORT, "default_pool": pool}
        self.world, self._host, self._neutron = world, host, neutron
        created = world.through(host).create(provider="amphora", name="site", listeners=[listener])
        self.id, self.address = str(created["id"]), str(created["vip_address"])
        self.listener = str(created["listeners"][0]["id"])
        self.amphora, self.port = str(uuid.uuid4()), str(uuid.uuid4())
        neutron.add(self.port, self.address)
        host.run(_SETTLED, self.id, self.amphora, self.port)

    def run(self, *words: str) -> str:
        return self._host.finished("take-over-amphora", self.id, *words)

    @property
    def shown(self) -> dict[str, Any]:
        found: dict[str, Any] = self.world.ask("GET", f"/loadbalancers/{self.id}")["loadbalancer"]
        return found

    @property
    def state(self) -> tuple[str, str, bool]:
        """Provider, status, and whether its amphora may send from the VIP."""
        row = self.shown
        return row["provider"], row["provisioning_status"], self.address in self._neutron.addresses(self.port)

    @property
    def page(self) -> str:
        return page_at(f"http://{self.address}:{PORT}/")

    def is_busy(self) -> bool:
        return self._host.run(_BUSY, self.amphora).strip() == "True"

    def delete(self) -> None:
        self.world.ask("DELETE", f"/loadbalancers/{self.id}?cascade=true")
        assert self.world.settled(self.id) == "DELETED", self.world.logs()


@pytest.fixture
def site(world: World, host: AmphoraHost, neutron: PortsNeutron) -> Site:
    return Site(world, host, neutron)


AMPHORAS, OURS = ("amphora", "ACTIVE", True), ("evenkeel", "ACTIVE", False)


def test_amphoras_load_balancer_becomes_ours_obeys_and_goes_back(site: Site) -> None:
    world = site.world
    planned = site.run()
    assert "becomes one of provider evenkeel" in planned and site.amphora in planned, planned
    assert site.state == AMPHORAS
    done = site.run("--yes")
    assert f"{site.id}: is of provider evenkeel" in done, done
    assert site.state == OURS and site.is_busy()
    assert "backend" in site.page
    # every command goes to our devices now
    world.change(site.id, "PUT", f"/listeners/{site.listener}", {"listener": {"admin_state_up": False}})
    assert site.page == ""
    world.change(site.id, "PUT", f"/listeners/{site.listener}", {"listener": {"admin_state_up": True}})
    world.change(site.id, "PUT", f"/loadbalancers/{site.id}/failover")
    assert "backend" in site.page

    went = site.run("--back", "--yes")
    assert "loadbalancer failover" in went, went
    assert site.state == AMPHORAS and not site.is_busy()
    assert world.mirrored(site.id) is None and site.page == ""

    assert "is of provider evenkeel" in site.run("--yes")
    assert site.state == OURS and "backend" in site.page
    assert f"openstack loadbalancer amphora delete {site.amphora}" in site.run("--finish", "--yes")
    assert site.state == OURS and "backend" in site.page
    site.delete()


def test_switch_over_sees_amphorae_and_their_ports(site: Site, host: AmphoraHost, neutron: PortsNeutron) -> None:
    source = AmphoraSource(Client([host.url], timeout_seconds=60.0), Client([neutron.url]))
    (amphora,) = source.amphorae(site.id)
    assert (amphora.id, amphora.port_id) == (site.amphora, site.port)
    assert amphora.may_send_from((site.address,))
    found = source.load_balancer(site.id)
    assert found is not None and found["vip_address"] == site.address
    assert source.load_balancer(str(uuid.uuid4())) is None


def test_everything_is_as_before_if_ours_do_not_confirm_in_time(site: Site) -> None:
    site.run("--yes", "--timeout", "0.0001")
    assert site.state == AMPHORAS
    assert site.world.mirrored(site.id) is None and site.page == ""


def test_killed_take_over_is_ended_by_the_agent_or_the_next_command(
    site: Site, host: AmphoraHost, neutron: PortsNeutron
) -> None:
    command = host.begin("take-over-amphora", site.id, "--yes")

    def is_silent() -> bool:
        return site.address not in neutron.addresses(site.port)

    until(is_silent)
    os.killpg(command.pid, signal.SIGKILL)
    command.wait()
    assert "is of provider evenkeel" in site.run("--yes")
    assert site.state == OURS and "backend" in site.page
    site.delete()
