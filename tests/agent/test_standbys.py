from msgspec.structs import replace

from evenkeel.agent.standbys import mark_unconfirmed_standbys
from evenkeel.core.devices.device import PartitionOutcome
from evenkeel.core.status.outcomes import Applied
from tests.devices.services import service

SERVED, STANDBY = service(1), replace(service(2), standby=True)
WRITTEN = tuple(Applied(load_balancer_id=one.load_balancer_id, revision=1) for one in (SERVED, STANDBY))


def test_standbys_are_unconfirmed_while_a_device_is_out_of_reach() -> None:
    outcome = PartitionOutcome(outcomes=WRITTEN, lagging=("device-2",))
    served, standby = mark_unconfirmed_standbys([SERVED, STANDBY], outcome).outcomes
    assert served == WRITTEN[0]
    assert standby.waiting and "device-2 is out of reach" in standby.error


def test_standbys_are_confirmed_when_all_devices_were_written() -> None:
    outcome = PartitionOutcome(outcomes=WRITTEN)
    assert mark_unconfirmed_standbys([SERVED, STANDBY], outcome) == outcome


def test_a_standby_that_a_device_refused_keeps_its_reason() -> None:
    refused = replace(WRITTEN[1], error="refused")
    outcome = PartitionOutcome(outcomes=(refused,), lagging=("device-2",))
    assert mark_unconfirmed_standbys([STANDBY], outcome) == outcome
