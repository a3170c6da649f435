"""Options of ``neutron.conf``."""

from typing import Any

import pytest
from oslo_config import cfg

from evenkeel_neutron.forwarding import ForwarderSettings
from evenkeel_neutron.options import list_opts, parse_settings, register_opts


def conf_of(**values: Any) -> Any:
    conf = cfg.ConfigOpts()
    register_opts(conf)
    for name, value in values.items():
        conf.set_override(name, value, group="evenkeel")
    conf([], default_config_files=[])
    return conf


def test_defaults_are_a_controller_on_this_host() -> None:
    assert parse_settings(conf_of()) == ForwarderSettings(urls=("http://127.0.0.1:9876",))
    assert [name for name, _ in list_opts()] == ["evenkeel"]


def test_configured_options_are_used() -> None:
    conf = conf_of(controllers=["https://a:9876/", "https://b"], ca_file="/ca.pem", connect_timeout=1.0)
    assert parse_settings(conf) == ForwarderSettings(
        urls=("https://a:9876", "https://b"), ca_file="/ca.pem", connect_seconds=1.0, read_seconds=60.0
    )


@pytest.mark.parametrize("url", ["controller:9876", "ftp://a", "https://a/neutron", "https://", "https://a?x=1"])
def test_controller_url_that_is_no_root_is_refused_by_name(url: str) -> None:
    with pytest.raises(ValueError, match=r"\[evenkeel\] controllers: "):
        parse_settings(conf_of(controllers=[url]))


def test_missing_controllers_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one root URL"):
        parse_settings(conf_of(controllers=[]))
