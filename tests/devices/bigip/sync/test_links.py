"""Which other devices a device says that it is connected to."""

import pytest

from evenkeel.devices.bigip.observe.cluster import SyncStatus
from evenkeel.devices.bigip.sync.unit import connection_states


@pytest.mark.parametrize("since", ["", " (for 3128 seconds)"])
def test_links_with_and_without_their_age(since: str) -> None:
    lines = (
        f"bigip2.test: connected{since}",
        f" bigip3.test: disconnected{since}",
        "g (In Sync): All devices are",
        "x: y",
    )
    assert connection_states(SyncStatus(details=lines)) == {"bigip2.test": "connected", "bigip3.test": "disconnected"}
