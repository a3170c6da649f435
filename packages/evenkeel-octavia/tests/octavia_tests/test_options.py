"""Options of ``[evenkeel]``: values that can't work are refused with the option's name."""

import io
import re
from pathlib import Path

import pytest
from oslo_config import cfg, generator

from evenkeel_octavia import options
from evenkeel_octavia.settings import MisconfiguredError

SAMPLE = Path(__file__).parents[2] / "octavia.conf.sample"


PAGES = (Path(__file__).parents[2] / "README.md", Path(__file__).parents[4] / "docs/how-to/use-under-octavia.md")


def generated_sample() -> str:
    """The section as oslo-config-generator writes it."""
    conf = cfg.ConfigOpts()
    generator.register_cli_opts(conf)
    conf(["--namespace", "evenkeel_octavia", "--wrap-width", "100"])
    written = io.StringIO()
    generator.generate(conf, written)
    return written.getvalue().partition("[DEFAULT]")[2].strip() + "\n"


def configured(text: str, tmp_path: Path) -> cfg.ConfigOpts:
    file = tmp_path / "octavia.conf"
    file.write_text(f"[evenkeel]\n{text}\n")
    conf = cfg.ConfigOpts()
    conf(args=["--config-file", str(file)])
    return conf


def test_sample_matches_the_options() -> None:
    """``oslo-config-generator --namespace evenkeel_octavia --wrap-width 100`` writes it, below an empty [DEFAULT]."""
    assert SAMPLE.read_text() == generated_sample()


def test_options_are_converted_to_settings(tmp_path: Path) -> None:
    conf = configured("providers = a:x, b:y\ncontrollers = https://c:1/, http://d:2\nlease = 7", tmp_path)
    assert options.parse_agent_settings(conf).environments == {"a": "x", "b": "y"}
    assert options.parse_agent_settings(conf).lease_seconds == 7.0
    assert options.parse_endpoint(conf).urls == ("https://c:1", "http://d:2")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("controllers = ", "controllers is empty"),
        ("controllers = ftp://c", "'ftp://c' is not allowed"),
        ("controllers = https://c/path", "'https://c/path' is not allowed"),
        ("providers = a:x, b:x", "an environment of its own"),
        ("providers = a:", "'a:' is not allowed"),
    ],
)
def test_values_that_can_not_work_are_refused(text: str, message: str, tmp_path: Path) -> None:
    conf = configured(text, tmp_path)
    with pytest.raises(MisconfiguredError, match=message):
        options.parse_endpoint(conf)
        options.parse_agent_settings(conf)


def test_octavia_makes_vip_ports_by_default(tmp_path: Path) -> None:
    assert not options.parse_agent_settings(configured("", tmp_path)).makes_vip_ports
    assert options.parse_agent_settings(configured("vip_ports = evenkeel", tmp_path)).makes_vip_ports


def test_user_without_a_password_is_refused(tmp_path: Path) -> None:
    endpoint = options.parse_endpoint(configured("api_username = octavia", tmp_path))
    with pytest.raises(MisconfiguredError, match="api_password_file is not set"):
        endpoint.credential()


def test_keystone_is_used_when_auth_type_is_set(tmp_path: Path) -> None:
    conf = configured("auth_type = password\nauth_url = http://127.0.0.1:1/v3\nusername = u\npassword = p", tmp_path)
    credential = options.parse_endpoint(conf).credential()
    assert type(credential).__name__ == "KeystoneCredential"
    with pytest.raises(ConnectionError, match="gives no token"):
        credential.headers()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_documents_set_options_that_exist(page: Path) -> None:
    (section,) = re.findall(r"^ *\[evenkeel\]\n(.*?)^ *```", page.read_text(), re.DOTALL | re.MULTILINE)
    named = re.findall(r"^ *(\w+) *=", section, re.MULTILINE)
    assert named and set(named) <= {option.dest for option in options.OPTIONS}
