"""openstacksdk's own functional tests of load balancing, as they are in its package, in an environment of their own."""

import importlib.metadata
import json
import subprocess
from pathlib import Path

import pytest

from tests.cloud import sdk_runner
from tests.cloud.cloud import ADMIN, DEMO, OTHER, Cloud
from tests.cloud.conftest import IN_A_CLOUD
from tests.services.installation import NotInstallable, environment

pytestmark = IN_A_CLOUD
VERSION = importlib.metadata.version("openstacksdk")
SECONDS = 900
TEST_SECONDS = 120
"""Of one test; by its own limit a busy machine fails it."""
OF_AMPHORAE = {
    "test_amphora_configure",
    "test_amphora_failover",
    "test_amphora_find",
    "test_amphora_get",
    "test_amphora_list",
    "test_provider_flavor_capabilities",
}
"""What is true of Octavia's amphora provider alone: it has amphorae, and a flavor that names their topology."""


@pytest.fixture(scope="module")
def interpreter() -> Path:
    try:
        requirements = (f"openstacksdk=={VERSION}", "fixtures", "oslotest", "requests-mock", "testtools")
        return environment("sdk-functional", VERSION, requirements) / "bin" / "python"
    except NotInstallable as error:
        pytest.skip(str(error))


def test_all_pass_but_those_of_amphorae(cloud: Cloud, interpreter: Path, tmp_path: Path) -> None:
    admin = cloud.auth(ADMIN)
    system = {"auth_url": admin["auth_url"], "username": ADMIN.user, "password": ADMIN.password, "system_scope": "all"}
    clouds = {"devstack": cloud.auth(DEMO), "devstack-alt": cloud.auth(OTHER), "devstack-admin": admin}
    file = cloud.clouds_yaml(**clouds, **{"devstack-system-admin": system | {"user_domain_id": "default"}})
    done = subprocess.run(
        [interpreter, Path(sdk_runner.__file__)],
        env={
            "PATH": "/usr/bin:/bin",
            "HOME": str(tmp_path),
            "OS_CLIENT_CONFIG_FILE": str(file),
            "OS_TEST_TIMEOUT": str(TEST_SECONDS),
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.stdout, done.stderr[-3000:]
    outcome = json.loads(done.stdout.splitlines()[-1])
    unexpected = [f"{name}: {text}" for name, text in outcome["failed"].items() if name not in OF_AMPHORAE]
    assert not unexpected, "\n".join(unexpected)
    assert set(outcome["failed"]) == OF_AMPHORAE
    assert (outcome["ran"], outcome["skipped"]) == (58, {})
