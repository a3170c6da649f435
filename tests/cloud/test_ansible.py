"""Ansible's ``openstack.cloud`` collection drives a whole story, as a tenant of a cloud without Neutron."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.api.live import LiveServer
from tests.cloud.cloud import DEMO, Cloud
from tests.cloud.conftest import IN_A_CLOUD
from tests.services.ansible import collections
from tests.services.installation import NotInstallable, environment

pytestmark = IN_A_CLOUD
PACKAGE = "ansible==12.3.0"
# the collection asks for a module that later SDKs have no more
REQUIREMENTS = ("ansible-core==2.19.14", "openstacksdk==4.10.0")
SECONDS = 600


@pytest.fixture(scope="module")
def installed() -> tuple[Path, Path]:
    """The environment, and the collections."""
    try:
        venv = environment("ansible-openstack", "1", REQUIREMENTS)
        return venv, collections(venv, PACKAGE, ["openstack/cloud"])
    except NotInstallable as error:
        pytest.skip(str(error))


def play(installed: tuple[Path, Path], story: str, clouds: Path, home: Path) -> None:
    """Run the story as a tenant does; fails with what Ansible says."""
    venv, found = installed
    done = subprocess.run(
        [venv / "bin" / "ansible-playbook", "-i", "localhost,", "-c", "local", Path(__file__).with_name(story)],
        env={
            "PATH": f"{venv}/bin:/usr/bin:/bin",
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "OS_CLIENT_CONFIG_FILE": str(clouds),
            "ANSIBLE_COLLECTIONS_PATH": str(found),
            "ANSIBLE_PYTHON_INTERPRETER": str(venv / "bin" / "python"),
        },
        cwd=home,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-5000:]


def test_every_module_of_load_balancing(cloud: Cloud, installed: tuple[Path, Path], tmp_path: Path) -> None:
    play(installed, "ansible_story.yml", cloud.clouds_yaml(demo=cloud.auth(DEMO)), tmp_path)


def test_a_controller_without_keystone(installed: tuple[Path, Path], tmp_path: Path) -> None:
    clouds = tmp_path / "clouds.yaml"
    with LiveServer.started(tmp_path) as live:
        bare = {"auth_type": "none", "auth": {"endpoint": live.url}, "region_name": "x"}
        clouds.write_text(json.dumps({"clouds": {"bare": bare}}))
        play(installed, "ansible_bare.yml", clouds, tmp_path)
