import pytest
import structlog
from oslo_config import cfg

from evenkeel.config.addresses import ADDRESSES, address_rules
from evenkeel.core.networking.addresses import AddressRules, parsed_networks


def section(**values: object) -> cfg.ConfigOpts.GroupAttr:
    conf = cfg.ConfigOpts()
    conf.register_opts(ADDRESSES, group="api")
    conf([], default_config_files=[], default_config_dirs=[])
    for name, value in values.items():
        conf.set_override(name, value, group="api")
    return conf.api


def test_loopback_is_closed_unless_an_operator_opens_it_which_is_reported() -> None:
    assert address_rules(section(), "api") == AddressRules()
    with structlog.testing.capture_logs() as lines:
        assert address_rules(section(allow_loopback_addresses=True), "api").allow_loopback
    assert [line["option"] for line in lines] == ["api.allow_loopback_addresses"]


def test_networks_that_are_closed_to_members() -> None:
    rules = address_rules(section(denied_member_networks=["10.0.0.0/8"]), "api")
    assert rules.denied_networks == parsed_networks(["10.0.0.0/8"])
    with pytest.raises(ValueError, match=r"^api\.denied_member_networks: '10\.0\.0\.1/8'"):
        address_rules(section(denied_member_networks=["10.0.0.1/8"]), "api")
