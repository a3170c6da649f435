from evenkeel.core.control.environments import UnreachableGroup
from evenkeel.core.placement.reach import Reachability, ReachabilityKind


def test_devices_out_of_reach_are_named_by_their_title_or_else_by_their_address() -> None:
    group = UnreachableGroup(
        environment="gold",
        number=1,
        reach=Reachability(kind=ReachabilityKind.NONE, away=("192.0.2.1", "192.0.2.2")),
        tenants=0,
        titles={"192.0.2.2": "edge-2 (192.0.2.2)"},
    )

    assert group.unreachable_device_titles == ("192.0.2.1", "edge-2 (192.0.2.2)")
