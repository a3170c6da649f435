"""Releases of neutronclient from eight years of OpenStack, each with its bindings, live the same story."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api import bodies
from tests.api.live import LiveServer
from tests.services.installation import NotInstallable, environment

STORY = Path(__file__).parent / "old_client.py"
STORY_SECONDS = 300.0
LIBRARIES = (
    "setuptools<80",  # its pkg_resources is gone from later ones
    "Babel",
    "cliff",
    "debtcollector",
    "iso8601",
    "keystoneauth1",
    "netaddr",
    "os-client-config",
    "osc-lib",
    "oslo.i18n",
    "oslo.serialization",
    "oslo.utils",
    "pbr",
    "python-keystoneclient",
    "requests",
    "simplejson",
    "six",
)
"""What these releases need, in today's versions: those they ask for do not install any more."""


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server whose load balancers become ACTIVE at once."""
    with LiveServer.started(tmp_path_factory.mktemp("old-clients")) as server:
        yield server


@pytest.mark.parametrize("version", ["2.6.0", "4.1.1", "6.2.0", "11.0.0"])
def test_an_old_release_lives_a_whole_life_cycle(live: LiveServer, version: str) -> None:
    try:
        release = [f"python-neutronclient=={version}"]
        client = environment("neutronclient", version, LIBRARIES, alone=release, compiled=False)
    except NotInstallable as reason:
        pytest.skip(str(reason))
    command = [str(client / "bin" / "python"), str(STORY), f"{live.url}/neutron", bodies.SUBNET_ID]
    done = subprocess.run(command, capture_output=True, text=True, timeout=STORY_SECONDS, check=False)
    assert done.stdout == "done\n", done.stderr[-3000:]
