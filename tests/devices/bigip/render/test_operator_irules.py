"""An operator's iRules on a listener's virtual servers: after ours, and able to read the stream."""

from typing import Any

import pytest

from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.objects import VIRTUAL
from evenkeel.devices.bigip.render.load_balancer import render_load_balancer
from tests.devices.services import listener, policy, pool, rule, service

NAMES = BigIpNames(environment="dev", prefix="dev", group=1)
IRULES = ("/Common/says", "/dev_p/by-hand")


def virtual_of(**changes: Any) -> dict[str, Any]:
    protocol = changes.get("protocol", "HTTP")
    wanted = service(
        listeners=(listener(operator_irules=IRULES, **changes),),
        pools=(pool(protocol="HTTP" if protocol == "HTTP" else "TCP"),),
    )
    rendered = render_load_balancer(wanted, NAMES)
    assert not rendered.problem
    (found,) = [item for item in rendered.objects if item.key.type == VIRTUAL]
    return dict(found.attributes)


def test_irules_of_an_operator_come_after_ours() -> None:
    regex = policy(1, rule(compare_type="REGEX", value="/a.*"))
    ours, *theirs = virtual_of(l7policies=(regex,))["rules"]
    assert ours.startswith("/dev_") and tuple(theirs) == IRULES
    assert tuple(virtual_of()["rules"]) == IRULES


@pytest.mark.parametrize("protocol", ["TCP", "HTTPS"])
def test_stream_with_an_irule_of_an_operator_ends_at_the_device(protocol: str) -> None:
    assert [one["name"] for one in virtual_of(protocol=protocol)["profiles"]] == ["/Common/tcp"]
