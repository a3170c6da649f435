"""Octavia's provider agent logs in at the cloud's Keystone as keystoneauth's options in ``octavia.conf`` tell it."""

from pathlib import Path

import pytest
from oslo_config import cfg

from evenkeel_octavia.controllers import ControllersClient, RequestRefused
from evenkeel_octavia.mirror import ControllersMirror
from evenkeel_octavia.options import parse_endpoint
from tests.cloud.cloud import ADMIN, DEMO, PROVIDER, Cloud, Login
from tests.cloud.conftest import IN_A_CLOUD

pytestmark = IN_A_CLOUD


def mirror_of(cloud: Cloud, login: Login, folder: Path) -> tuple[ControllersMirror, ControllersClient]:
    file = folder / "octavia.conf"
    lines = [f"{name} = {value}" for name, value in {"auth_type": "password", **cloud.auth(login)}.items()]
    file.write_text("\n".join(["[evenkeel]", f"controllers = {cloud.url}", *lines, ""]))
    conf = cfg.ConfigOpts()
    conf(["--config-file", str(file)])
    client = ControllersClient(parse_endpoint(conf))
    return ControllersMirror(client, seconds=30.0), client


def test_operator_takes_the_lease(cloud: Cloud, tmp_path: Path) -> None:
    mirror, client = mirror_of(cloud, ADMIN, tmp_path)
    assert mirror.lease(PROVIDER, "host-a", 5.0) and not mirror.lease(PROVIDER, "host-b", 5.0)
    mirror.lease(PROVIDER, "host-a", 0.0)
    assert mirror.lease(PROVIDER, "host-b", 5.0)
    client.close()


def test_tenant_is_refused(cloud: Cloud, tmp_path: Path) -> None:
    mirror, client = mirror_of(cloud, DEMO, tmp_path)
    with pytest.raises(RequestRefused) as raised:
        mirror.listing(PROVIDER)
    assert raised.value.status == 403
    client.close()
