"""Changes of meaning by an adoption that attributes alone do not show."""

from typing import Any

import pytest

from evenkeel.devices.bigip.naming import Mark
from evenkeel.devices.bigip.objects import COOKIE_PERSISTENCE, VIRTUAL, Key, Observed, ObservedObject
from evenkeel.devices.bigip.reconcile.adoption_notes import adoption_note

PARTITION = "dev_p"
KEY = Key(type=VIRTUAL, name="dev_l")
FASTL4 = {"profiles": [{"name": "/Common/fastL4", "context": "all"}]}


def seen(key: Key, mark: Mark | None = None, **attributes: Any) -> Observed:
    return {key: ObservedObject(key=key, attributes=attributes, mark=mark)}


@pytest.mark.parametrize("name", ["tcp", "fastL4"])
def test_full_proxy_that_becomes_a_packet_filter_is_reported(name: str) -> None:
    observed = seen(KEY, profiles=[{"name": name, "partition": "Common"}])
    note = adoption_note(KEY, FASTL4, observed, PARTITION)
    assert note == ("TCP ended at the device, and is passed on by fastL4 now" if name == "tcp" else "")


def test_tcp_profile_of_f5s_agent_counts_as_full_proxy() -> None:
    own = Key(type="ltm/profile/tcp", name="server_tcp_profile_x")
    observed = seen(KEY, profiles=[{"name": own.name, "partition": PARTITION}]) | seen(own)
    assert "TCP ended at the device" in adoption_note(KEY, FASTL4, observed, PARTITION)


@pytest.mark.parametrize(("expiration", "told"), [("0:0:30:0", True), ("0", False)])
def test_expiry_of_cookies_is_reported(expiration: str, told: bool) -> None:
    profile = Key(type=COOKIE_PERSISTENCE, name="http_cookie_dev_l")
    persist = [{"name": profile.name, "partition": PARTITION}]
    observed = seen(KEY, persist=persist) | seen(profile, expiration=expiration)
    assert ("cookies expired after 0:0:30:0" in adoption_note(KEY, {"persist": []}, observed, PARTITION)) is told


def test_virtual_server_of_ours_has_no_note() -> None:
    observed = seen(KEY, Mark(environment="dev", kind="listener"), profiles=[{"name": "tcp", "partition": "Common"}])
    assert adoption_note(KEY, FASTL4, observed, PARTITION) == ""
