"""Notifications compared with those that Octavia and Neutron send of the same load balancer.

``recorded/octavia_notifications.json``: sent by the tasks of Octavia 19.0.0
(``octavia.controller.worker.v2.tasks.notification_tasks``) with a load balancer of its own models.
``recorded/neutron_notifications.json``: sent by Neutron 29.0.0's ``NotifierHook`` after requests for the resource
``loadbalancer``, answered with the attributes that neutron-lbaas 14.0.1 shows.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from evenkeel.bus.amqp.notifications import encode_notification
from evenkeel.controller.notification_shapes import NEUTRON, OCTAVIA, SHAPES, build_notification
from evenkeel.core.control.notifications import PendingNotification
from evenkeel.core.status.lifecycle import LifecycleEvent

RECORDED = Path(__file__).parent / "recorded"
OF_ONE_MESSAGE = {"message_id", "timestamp", "_unique_id", "_context_request_id"}
ENTRY = PendingNotification(
    id=7,
    event=LifecycleEvent.CREATE,
    at=1_790_000_000.25,
    load_balancer_id="5d0c4f8e-0000-4000-8000-000000000004",
    project_id="9f8e7d6c5b4a39281706f5e4d3c2b1a0",
    name="web",
    description="shop",
    admin_state_up=True,
    provider="f5",
    provisioning_status="ACTIVE",
    operating_status="ONLINE",
    vip_address="198.51.100.10",
    vip_subnet_id="5d0c4f8e-0000-4000-8000-000000000001",
    vip_network_id="5d0c4f8e-0000-4000-8000-000000000002",
    vip_port_id="5d0c4f8e-0000-4000-8000-000000000003",
)


def recorded(shape: str, event_type: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RECORDED / f"{shape}_notifications.json").read_text())[event_type]
    return found


def sent(entry: PendingNotification, shape: str) -> dict[str, Any]:
    """The message in the envelope."""
    envelope = json.loads(encode_notification(build_notification(entry, shape, "network-1")))
    assert sorted(envelope) == ["oslo.message", "oslo.version"]
    assert envelope["oslo.version"] == "2.0"
    message: dict[str, Any] = json.loads(envelope["oslo.message"])
    return message


@pytest.mark.parametrize("event", LifecycleEvent)
def test_octavias_shape_is_that_of_octavia(event: LifecycleEvent) -> None:
    theirs, ours = recorded(OCTAVIA, f"octavia.loadbalancer.{event}.end"), sent(replace(ENTRY, event=event), OCTAVIA)
    assert sorted(ours) == sorted(theirs)
    assert {name: ours[name] for name in ours.keys() - OF_ONE_MESSAGE} == {
        name: theirs[name] for name in theirs.keys() - OF_ONE_MESSAGE
    }


@pytest.mark.parametrize("event", LifecycleEvent)
def test_neutrons_shape_has_neutrons_payload_publisher_and_project(event: LifecycleEvent) -> None:
    theirs, ours = recorded(NEUTRON, f"loadbalancer.{event}.end"), sent(replace(ENTRY, event=event), NEUTRON)
    same = ("event_type", "payload", "priority", "publisher_id", "_context_project", "_context_project_id")
    assert {name: ours[name] for name in same} == {name: theirs[name] for name in same}


def test_a_flavor_is_data_in_octavias_shape_and_an_id_in_neutrons() -> None:
    entry = replace(ENTRY, flavor_id="gold", flavor={"size": 2})
    assert sent(entry, OCTAVIA)["payload"]["flavor"] == {"size": 2}
    assert sent(entry, NEUTRON)["payload"]["loadbalancer"]["flavor_id"] == "gold"


def test_children_are_listed_in_neutrons_shape() -> None:
    entry = replace(ENTRY, listener_ids=("l1", "l2"), pool_ids=("p1",))
    view = sent(entry, NEUTRON)["payload"]["loadbalancer"]
    assert (view["listeners"], view["pools"]) == ([{"id": "l1"}, {"id": "l2"}], [{"id": "p1"}])


def test_the_timestamp_is_the_events_time_in_utc_as_oslo_messaging_writes_it() -> None:
    assert sent(ENTRY, OCTAVIA)["timestamp"] == "2026-09-21 14:13:20.250000"


def test_each_attempt_has_another_unique_id_and_the_same_message_id() -> None:
    one, other = sent(ENTRY, OCTAVIA), sent(ENTRY, OCTAVIA)
    assert one["_unique_id"] != other["_unique_id"]
    assert one["message_id"] == other["message_id"]


def test_message_ids_are_stable_and_differ_between_shapes_and_entries() -> None:
    entries = [ENTRY, replace(ENTRY, id=8), replace(ENTRY, at=ENTRY.at + 1.0)]
    ids = [build_notification(entry, shape, "h").message_id for entry in entries for shape in SHAPES]
    assert len(set(ids)) == len(ids)
    assert ids == [build_notification(entry, shape, "other").message_id for entry in entries for shape in SHAPES]
