"""DNS zones are opened from their sections, or the option that is wrong is named, without the content of keys."""

import re
from pathlib import Path

import pytest

from evenkeel.acme_client.designate import DesignateZone
from evenkeel.cmd.controllers.acme_parts import open_acme
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.tls.acme.zones import ZoneScope
from tests.cmd.controllers.test_acme_parts import URL, conf_of, opened_keys
from tests.services.zone_server import KEY_FILE, SECRET, write_key

AUTHORITY = f"directory_url = {URL}"
NO_SDK_NOISE = pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # the SDK's, of itself


def zone_lines(key: Path, *changes: str, name: str = "one") -> tuple[str, ...]:
    """A valid section; later lines win."""
    usual = ("zone = Example.org.", "projects = p1, p2", "server = 192.0.2.53", f"tsig_key_file = {key}")
    return (f"[dns:{name}]", *usual, *changes)


def test_zones_are_opened_for_their_projects(tmp_path: Path) -> None:
    lines = zone_lines(write_key(tmp_path), "name_servers = 192.0.2.54, [2001:db8::1]:5353", "timeout = 3")
    opened = open_acme(conf_of(tmp_path, AUTHORITY, *lines), opened_keys(tmp_path), {})
    assert opened.parts is not None and opened.requests is not None
    scope = ZoneScope(zone="example.org", projects=(ProjectId("p1"), ProjectId("p2")))
    assert [each.scope for each in opened.parts.zones] == [scope] == list(opened.requests.zones)
    opened.close()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (("zone = example_.org",), "dns:one.zone: 'example_.org'"),
        (("zone =",), "dns:one.zone: ''"),
        (("projects =",), "dns:one.projects: not set"),
        (("server =",), "dns:one.server: not set"),
        (("server = ns.example",), "dns:one.server: "),
        (("name_servers = 192.0.2.1:0",), "dns:one.name_servers: "),
        (("tsig_key_file = /nowhere/key",), "dns:one.tsig_key_file: /nowhere/key: unreadable"),
        (("secret = x",), "no such option"),
        (("timeout = 0",), "timeout"),
        (("[dns:two]", "zone = example.org", "projects = p1", "server = 192.0.2.1"), "[dns:one] has the same zone"),
        (("[dns:a.b]", "zone = example.net"), "dns:a.b: the name after dns: should be"),
    ],
)
def test_invalid_options_of_zones_are_refused_by_name(tmp_path: Path, changes: tuple[str, ...], told: str) -> None:
    lines = zone_lines(write_key(tmp_path), *changes)
    with pytest.raises(ValueError, match=re.escape(told)):
        open_acme(conf_of(tmp_path, AUTHORITY, *lines), opened_keys(tmp_path), {})


def test_a_zone_without_a_key_or_an_authority_is_refused(tmp_path: Path) -> None:
    lines = [line for line in zone_lines(write_key(tmp_path)) if not line.startswith("tsig_key_file")]
    with pytest.raises(ValueError, match=r"dns:one\.tsig_key_file: not set"):
        open_acme(conf_of(tmp_path, AUTHORITY, *lines), opened_keys(tmp_path), {})
    with pytest.raises(ValueError, match=r"dns:one: needs an authority"):
        open_acme(conf_of(tmp_path, *lines), opened_keys(tmp_path), {})


@pytest.mark.parametrize(
    ("content", "mode", "told"),
    [
        (KEY_FILE, 0o640, "others than its owner"),
        ("", 0o600, "tsig-keygen"),
        (SECRET, 0o600, "tsig-keygen"),
        (KEY_FILE + KEY_FILE, 0o600, "tsig-keygen"),
        (KEY_FILE.replace("hmac-sha256", "hmac-md5"), 0o600, "algorithm hmac-md5"),
        (KEY_FILE.replace(SECRET, SECRET[1:]), 0o600, "should be base64"),
    ],
    ids=["readable by others", "empty", "bare secret", "two keys", "weak algorithm", "no base64"],
)
def test_an_unusable_key_of_a_zone_is_refused_without_its_content(
    tmp_path: Path, content: str, mode: int, told: str
) -> None:
    key = write_key(tmp_path)
    key.write_text(content)
    key.chmod(mode)
    with pytest.raises(ValueError, match=re.escape("dns:one.tsig_key_file")) as refused:
        open_acme(conf_of(tmp_path, AUTHORITY, *zone_lines(key)), opened_keys(tmp_path), {})
    assert told in str(refused.value) and SECRET not in str(refused.value)


def designate_lines(folder: Path, *changes: str) -> tuple[str, ...]:
    """A valid section of a zone in Designate; later lines win."""
    clouds = folder / "clouds.yaml"
    clouds.write_text("clouds: {dns: {auth_type: none, auth: {endpoint: 'http://127.0.0.1:1/'}}}\n")
    usual = ("type = designate", "zone = example.org", "projects = p1", "cloud = dns", f"clouds_file = {clouds}")
    return ("[dns:one]", *usual, *changes)


@NO_SDK_NOISE
def test_a_zone_in_designate_is_opened_by_its_cloud(tmp_path: Path) -> None:
    opened = open_acme(conf_of(tmp_path, AUTHORITY, *designate_lines(tmp_path)), opened_keys(tmp_path), {})
    assert opened.parts is not None
    (zone,) = opened.parts.zones
    assert isinstance(zone.server, DesignateZone)
    opened.close()


@NO_SDK_NOISE
@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (("cloud =",), "dns:one.cloud: not set"),
        (("cloud = other",), "dns:one.cloud: other: Cloud other was not found"),
        (("clouds_file = /nowhere/clouds.yaml",), "dns:one.clouds_file: there is no file /nowhere/clouds.yaml"),
        (("server = 192.0.2.1",), "dns:one.server: is not used with type = designate"),
        (("name_servers = 192.0.2.1",), "dns:one.name_servers: is not used with type = designate"),
        (("type = bind",), "type"),
    ],
)
def test_invalid_options_of_zones_in_designate_are_refused_by_name(
    tmp_path: Path, changes: tuple[str, ...], told: str
) -> None:
    lines = designate_lines(tmp_path, *changes)
    with pytest.raises(ValueError, match=re.escape(told)):
        open_acme(conf_of(tmp_path, AUTHORITY, *lines), opened_keys(tmp_path), {})
