"""Whether, in which shapes and to which broker notifications are sent."""

from typing import Any

import pytest
from oslo_config import cfg

from evenkeel.cmd.options.notification_options import (
    NOTIFICATION_OPTIONS,
    NOTIFICATIONS_SECTION,
    notification_settings,
    notifications_enabled,
    open_notifications,
)

OWN_BUS = "amqp://guest:guest@own:5672/"


def configured(own: str = OWN_BUS, /, **options: Any) -> cfg.ConfigOpts:
    conf = cfg.ConfigOpts()
    conf.register_opts(NOTIFICATION_OPTIONS, NOTIFICATIONS_SECTION)
    conf.register_opt(cfg.StrOpt("transport_url", default=own))
    conf([])
    for name, value in options.items():
        conf.set_override(name, value, NOTIFICATIONS_SECTION)
    return conf


def test_notifications_are_off_by_default() -> None:
    conf = configured()
    assert not notifications_enabled(conf)
    assert open_notifications(conf) is None


async def test_each_shape_is_taken_once_in_the_given_order() -> None:
    conf = configured(shapes=["neutron", "octavia", "neutron"], waiting_max=5_000)
    assert notifications_enabled(conf)
    settings = notification_settings(conf)
    assert (settings.shapes, settings.waiting_max) == (("neutron", "octavia"), 5_000)
    opened = open_notifications(conf)
    assert opened is not None
    await opened.close()


@pytest.mark.parametrize(
    ("own", "options", "problem"),
    [
        ("embedded:///bus.db", {}, r"notifications\.transport_url: .*transport_url, which is used without one, is not"),
        (OWN_BUS, {"transport_url": "kafka://broker"}, r"notifications\.transport_url: has to be rabbit://"),
        (OWN_BUS, {"transport_url": "rabbit://broker:port/"}, r"notifications\.transport_url: the port of broker"),
        ("amqp://own:port/", {}, r"^transport_url: the port of own"),
        (OWN_BUS, {"topics": []}, r"notifications\.topics: one at least"),
    ],
)
def test_a_broker_that_cannot_be_used_is_refused(own: str, options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        open_notifications(configured(own, shapes=["octavia"], **options))


@pytest.mark.parametrize(("name", "value"), [("shapes", "nova"), ("topics", "with blank"), ("waiting_max", 10)])
def test_a_value_that_is_not_allowed_is_refused(name: str, value: Any) -> None:
    with pytest.raises(ValueError):
        configured(**{name: [value] if isinstance(value, str) else value})
