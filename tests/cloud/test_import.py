"""``evenkeel import octavia`` logs in to a cloud by clouds.yaml, as ``openstack`` does.

The source is our own Octavia API in the cloud's catalogue: what it shows is then present already.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evenkeel.cli.main import main
from tests import log_handlers
from tests.api.subnet import SUBNET
from tests.cloud.cloud import ADMIN, DEMO, PROVIDER, Cloud, Login
from tests.cloud.conftest import IN_A_CLOUD
from tests.waiting import until

pytestmark = IN_A_CLOUD


@pytest.fixture
def load_balancer(cloud: Cloud) -> Iterator[Any]:
    """A load balancer of a tenant, ACTIVE; deleted afterwards, because other tests list those of the tenant."""
    with cloud.connection(DEMO) as tenant:
        service = tenant.load_balancer
        made = service.create_load_balancer(name="web", vip_subnet_id=SUBNET.id, provider=PROVIDER)
        service.create_listener(load_balancer_id=made.id, protocol="TCP", protocol_port=80)
        until(lambda: service.get_load_balancer(made.id).provisioning_status == "ACTIVE")
        yield made
        service.delete_load_balancer(made.id, cascade=True)
        until(lambda: service.find_load_balancer(made.id) is None)


@pytest.mark.parametrize("login", [ADMIN, DEMO])
def test_load_balancer_of_a_cloud_is_read_with_its_login(
    cloud: Cloud,
    load_balancer: Any,
    login: Login,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "clouds.yaml"
    file.write_text(json.dumps({"clouds": {"old": {"auth": cloud.auth(login), "region_name": cloud.region}}}))
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(file))
    with cloud.connection(ADMIN) as admin:
        monkeypatch.setenv("EVENKEEL_TOKEN", admin.auth_token)
    words = ("import", "octavia", "--environment", PROVIDER, "--os-cloud", "old", "--json")
    code = main(["--endpoint", cloud.url, "--timeout", "60", *words, "--loadbalancer", load_balancer.id])
    out, err = capsys.readouterr()
    log_handlers.remove()
    assert (code, err) == (0, "")
    (row,) = json.loads(out)["loadbalancers"]
    assert (row["id"], row["name"], row["outcome"]) == (load_balancer.id, "web", "present")
