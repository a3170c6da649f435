"""Whether, and as whom, an agent speaks to Neutron."""

from typing import Any

import pytest
from msgspec.structs import replace
from oslo_config import cfg

from evenkeel.cmd.options.neutron_agent_options import NEUTRON_AGENT_OPTIONS, NEUTRON_AGENT_SECTION, open_neutron_agent
from evenkeel.core.devices.device import Attachments, DeviceFacts
from evenkeel.core.networking.networks import NetworkLayout
from evenkeel.core.resources.statuses import HaType, RescheduleMode

FACTS = DeviceFacts(driver="bigip", ha_type=HaType.PAIR, reschedule=RescheduleMode.CONTROL, endpoints=("a", "b"))


class Routed:
    facts = FACTS


class Attached(Routed):
    facts = replace(FACTS, network_layout=NetworkLayout(binding_host="bigips"))

    async def attachments(self) -> Attachments:
        return Attachments()


def opened(device: Any, **options: Any) -> Any:
    conf = cfg.ConfigOpts()
    conf.register_opts(NEUTRON_AGENT_OPTIONS, NEUTRON_AGENT_SECTION)
    for name, value in {"host": "h1", "environment_prefix": "p", "device_driver": "bigip"}.items():
        conf.register_opt(cfg.StrOpt(name, default=value))
    conf.register_opt(cfg.IntOpt("environment_group_number", default=1))
    conf([])
    for name, value in options.items():
        conf.set_override(name, value, NEUTRON_AGENT_SECTION)
    return open_neutron_agent(conf, device, lambda networks: None)


def test_without_options_it_is_off() -> None:
    assert opened(Attached()) is None


def test_devices_that_are_not_attached_to_networks_are_refused() -> None:
    with pytest.raises(ValueError, match="neutron_agent: device_driver bigip is not attached"):
        opened(Routed(), transport_url="fake://")


@pytest.mark.parametrize(("given", "host"), [("", "bigips"), ("other", "other")])
def test_neutron_agents_host_is_the_port_binding_host_by_default(given: str, host: str) -> None:
    assert opened(Attached(), transport_url="fake://", host=given)._settings.host == host


@pytest.mark.parametrize("options", [{"transport_url": "nothing://"}, {"config_files": ["/nowhere/neutron.conf"]}])
def test_a_bus_that_cannot_be_used_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"^neutron_agent: \w+: "):
        opened(Attached(), **options)


@pytest.mark.parametrize(
    "url", ["admin:swordfish@host", "rabbit://admin:swordfish@host:port/", "nothing://a:swordfish@b"]
)
def test_passwords_in_urls_are_not_reported(url: str) -> None:
    with pytest.raises(ValueError, match="neutron_agent") as refused:
        opened(Attached(), transport_url=url)
    assert ("swordfish" not in str(refused.value) and refused.value.__cause__ is None) or "swordfish" not in repr(
        refused.value.__cause__
    )


def test_types_that_neutron_does_not_bind_for_are_refused() -> None:
    with pytest.raises(ValueError, match="Linux bridge agent"):
        opened(Attached(), transport_url="fake://", agent_types=["Linux bridge agent"])
