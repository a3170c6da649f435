"""Ansible's ``openstack.cloud`` collection drives a whole story, as a tenant of a cloud without Neutron."""

import subprocess
from pathlib import Path

import pytest

from tests.cloud.cloud import DEMO, Cloud
from tests.cloud.conftest import IN_A_CLOUD
from tests.services.ansible import collections
from tests.services.installation import NotInstallable, environment

pytestmark = IN_A_CLOUD
PACKAGE = "ansible==12.3.0"
# the collection asks for a module that later SDKs have no more
REQUIREMENTS = ("ansible-core==2.19.14", "openstacksdk==4.7.2")
STORY = Path(__file__).with_name("ansible_story.yml")
SECONDS = 600


@pytest.fixture(scope="module")
def installed() -> tuple[Path, Path]:
    """The environment, and the collections."""
    try:
        venv = environment("ansible-openstack", "1", REQUIREMENTS)
        return venv, collections(venv, PACKAGE, ["openstack/cloud"])
    except NotInstallable as error:
        pytest.skip(str(error))


def test_every_module_of_load_balancing(cloud: Cloud, installed: tuple[Path, Path], tmp_path: Path) -> None:
    venv, found = installed
    done = subprocess.run(
        [venv / "bin" / "ansible-playbook", "-i", "localhost,", "-c", "local", STORY],
        env={
            "PATH": f"{venv}/bin:/usr/bin:/bin",
            "HOME": str(tmp_path),
            "LANG": "C.UTF-8",
            "OS_CLIENT_CONFIG_FILE": str(cloud.clouds_yaml(demo=cloud.auth(DEMO))),
            "ANSIBLE_COLLECTIONS_PATH": str(found),
            "ANSIBLE_LOCALHOST_WARNING": "False",
            "ANSIBLE_PYTHON_INTERPRETER": str(venv / "bin" / "python"),
            "ANSIBLE_CALLBACK_RESULT_FORMAT": "yaml",
            "ANSIBLE_STDOUT_CALLBACK": "ansible.builtin.default",
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-5000:]
