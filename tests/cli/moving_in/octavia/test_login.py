"""Where a source is and who asks it, as openstacksdk finds it."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evenkeel.cli.client import ApiRefused, UsageError
from evenkeel.cli.moving_in.octavia.login import SourceEndpoint, find_cloud_endpoint, source_client
from tests.cli.moving_in.octavia.recorded import LB, LBAAS, RecordedOctavia

pytestmark = pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # openstacksdk's, of itself
Clouds = Callable[..., None]


@pytest.fixture
def clouds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clouds:
    """Write clouds.yaml with these clouds (JSON is YAML); nothing else names any."""
    for name in [name for name in os.environ if name.startswith("OS_")]:
        monkeypatch.delenv(name)
    file = tmp_path / "clouds.yaml"
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(file))

    def write(**found: Any) -> None:
        file.write_text(json.dumps({"clouds": found}))

    write()
    return write


def with_token(url: str, **more: Any) -> dict[str, Any]:
    return {"auth_type": "admin_token", "auth": {"endpoint": url, "token": "secret-token"}, **more}


def test_cloud_of_the_file_gives_the_url_and_who_asks(clouds: Clouds) -> None:
    clouds(old=with_token("https://lb.example/load-balancer"))
    assert find_cloud_endpoint("old") == SourceEndpoint(
        "https://lb.example/load-balancer", {"X-Auth-Token": "secret-token"}
    )


def test_variables_of_openstack_give_them_too(clouds: Clouds, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"AUTH_TYPE": "admin_token", "ENDPOINT": "https://lb.example", "TOKEN": "t"}.items():
        monkeypatch.setenv(f"OS_{name}", value)
    assert find_cloud_endpoint(None) == SourceEndpoint("https://lb.example", {"X-Auth-Token": "t"})


def test_ca_certificates_of_the_cloud_verify_it(clouds: Clouds) -> None:
    clouds(old=with_token("https://lb.example", cacert="/etc/ssl/old.pem"))
    assert find_cloud_endpoint("old").ca_file == "/etc/ssl/old.pem"


@pytest.mark.parametrize("option", [{"verify": False}, {"insecure": True}])
def test_cloud_that_is_not_verified_is_refused(clouds: Clouds, option: dict[str, Any]) -> None:
    clouds(old=with_token("https://lb.example", **option))
    with pytest.raises(UsageError, match="is not to be verified"):
        find_cloud_endpoint("old")


def test_unknown_cloud_is_refused_by_name(clouds: Clouds) -> None:
    with pytest.raises(ApiRefused, match=r"the cloud of the source: .*nowhere"):
        find_cloud_endpoint("nowhere")


def test_keystone_out_of_reach_is_an_error_without_the_password(clouds: Clouds) -> None:
    login = {"username": "u", "password": "very-secret", "project_name": "p", "user_domain_id": "default"}
    clouds(old={"auth": {"auth_url": "http://127.0.0.1:1/v3", "project_domain_id": "default", **login}})
    with pytest.raises(ApiRefused, match="the cloud of the source") as refusal:
        find_cloud_endpoint("old")
    assert "very-secret" not in str(refusal.value)


def test_without_openstacksdk_the_error_states_what_to_install(clouds: Clouds, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openstack.config", None)
    with pytest.raises(UsageError, match=r"install evenkeel-lbaas\[neutron\], or give --source-url"):
        find_cloud_endpoint("old")


@pytest.mark.parametrize("end", ["", "/", "/v2", "/v2.0/"])
def test_url_of_a_version_is_cut(clouds: Clouds, octavia: RecordedOctavia, end: str) -> None:
    clouds(old=with_token(f"{octavia.url}{end}"))
    client = source_client(None, "old", ca_file=None, timeout_seconds=10.0)
    assert client.get(f"{LBAAS}/loadbalancers/{LB}")["loadbalancer"]["id"] == LB
