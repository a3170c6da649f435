"""The controller's part that sends the outbox of notifications."""

from collections.abc import Collection
from typing import Any

import pytest
from msgspec.structs import replace
from prometheus_client import REGISTRY

from evenkeel.controller.notifications import BATCH, STATE_SECONDS, Notifications
from evenkeel.controller.settings import NotificationSettings
from evenkeel.core.control.notifications import Notification, OutboxState, PendingNotification
from evenkeel.core.kit.errors import BusUnavailable, StoreUnavailable
from evenkeel.core.status.lifecycle import LifecycleEvent
from tests.controller.test_notification_shapes import ENTRY


class Outbox:
    """The database: entries, and whose turn it is."""

    def __init__(self, *entries: PendingNotification) -> None:
        self.entries = list(entries)
        self.holder = ""
        self.fails = False

    async def take_sender_lease(self, holder: str, seconds: float) -> bool:
        if self.holder not in ("", holder):
            return False
        self.holder = holder if seconds else ""
        return True

    async def read_oldest_notifications(self, limit: int) -> tuple[PendingNotification, ...]:
        return tuple(self.entries[:limit])

    async def delete_notifications(self, ids: Collection[int]) -> None:
        if self.fails:
            raise StoreUnavailable("gone")
        self.entries = [entry for entry in self.entries if entry.id not in ids]

    async def read_outbox_state(self) -> OutboxState:
        return OutboxState(count=len(self.entries), oldest_seconds=5.0 if self.entries else 0.0)

    async def drop_oldest_notifications(self, count: int) -> int:
        dropped, self.entries = self.entries[:count], self.entries[count:]
        return len(dropped)


class Broker:
    """Takes notifications unless it refuses; ``refuses``: names of load balancers."""

    def __init__(self) -> None:
        self.taken: list[Notification] = []
        self.refuses: set[str] = set()

    async def send(self, notification: Notification) -> None:
        if notification.payload.get("name") in self.refuses:
            raise BusUnavailable("away")
        self.taken.append(notification)

    async def close(self) -> None:
        self.refuses = set()

    @property
    def names(self) -> list[str]:
        return [each.payload["name"] for each in self.taken]


class Clock:
    """Stands still until it is set."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


def entry(id_: int, load_balancer: str, **more: Any) -> PendingNotification:
    return replace(ENTRY, id=id_, load_balancer_id=load_balancer, name=f"{load_balancer}-{id_}", **more)


def part(outbox: Outbox, broker: Broker, *, holder: str = "a", **settings: Any) -> Notifications:
    values = NotificationSettings(**{"shapes": ("octavia",), "host": "h", **settings})
    return Notifications(outbox, broker, values, Clock(), holder=holder)


def metric(name: str) -> float:
    return REGISTRY.get_sample_value(name) or 0.0


async def test_all_entries_are_sent_and_removed() -> None:
    outbox, broker = Outbox(*(entry(number, f"lb{number}") for number in range(2 * BATCH + 1))), Broker()
    await part(outbox, broker).send_pending()
    assert len(broker.taken) == 2 * BATCH + 1
    assert outbox.entries == []


async def test_each_configured_shape_is_sent() -> None:
    outbox, broker = Outbox(entry(1, "x", event=LifecycleEvent.DELETE)), Broker()
    await part(outbox, broker, shapes=("octavia", "neutron")).send_pending()
    assert [each.event_type for each in broker.taken] == ["octavia.loadbalancer.delete.end", "loadbalancer.delete.end"]


async def test_entries_behind_a_failure_wait_and_other_load_balancers_go_on() -> None:
    outbox, broker = Outbox(entry(1, "x"), entry(2, "y"), entry(3, "x"), entry(4, "y"), entry(5, "x")), Broker()
    broker.refuses = {"x-3"}
    notifications = part(outbox, broker)
    with pytest.raises(BusUnavailable):
        await notifications.send_pending()
    assert sorted(broker.names) == ["x-1", "y-2", "y-4"]
    assert [each.id for each in outbox.entries] == [3, 5]
    broker.refuses = set()
    await notifications.send_pending()
    assert [name for name in broker.names if name.startswith("x")] == ["x-1", "x-3", "x-5"]


async def test_an_entry_whose_removal_failed_is_repeated_with_its_message_id() -> None:
    outbox, broker = Outbox(entry(1, "x")), Broker()
    outbox.fails = True
    with pytest.raises(StoreUnavailable):
        await part(outbox, broker).send_pending()
    outbox.fails, outbox.holder = False, ""
    await part(outbox, broker, holder="b").send_pending()
    first, second = broker.taken
    assert first == second


async def test_only_the_controller_whose_turn_it_is_sends_until_it_ends() -> None:
    outbox, broker = Outbox(entry(1, "x")), Broker()
    one, other = part(outbox, broker), part(outbox, Broker(), holder="b")
    await one.send_pending()
    outbox.entries = [entry(2, "x")]
    await other.send_pending()
    assert [each.id for each in outbox.entries] == [2]
    await one.stop()
    await other.send_pending()
    assert outbox.entries == []


async def test_the_oldest_entries_above_the_limit_are_dropped_counted_and_the_rest_is_shown() -> None:
    outbox, broker = Outbox(*(entry(number, "x") for number in range(1_200))), Broker()
    dropped = metric("evenkeel_notifications_dropped_total")
    broker.refuses = {"x-200"}
    notifications = part(outbox, broker, waiting_max=1_000)
    with pytest.raises(BusUnavailable):
        await notifications.send_pending()
    assert outbox.entries[0].id == 200
    assert metric("evenkeel_notifications_dropped_total") == dropped + 200
    assert metric("evenkeel_notifications_waiting") == 1_000
    assert metric("evenkeel_notification_oldest_seconds") == 5.0


async def test_a_controller_that_lost_its_turn_shows_no_entries() -> None:
    outbox, broker = Outbox(entry(1, "x")), Broker()
    broker.refuses = {"x-1"}
    notifications = part(outbox, broker)
    with pytest.raises(BusUnavailable):
        await notifications.send_pending()
    assert metric("evenkeel_notifications_waiting") == 1
    outbox.holder = "b"
    await notifications.send_pending()
    assert metric("evenkeel_notifications_waiting") == 0


async def test_the_state_is_read_at_its_interval_only() -> None:
    outbox, broker, clock = Outbox(), Broker(), Clock()
    notifications = Notifications(
        outbox, broker, NotificationSettings(shapes=("octavia",), host="h"), clock, holder="a"
    )
    await notifications.send_pending()
    outbox.entries = [entry(1, "x")]
    broker.refuses = {"x-1"}
    for seconds, shown in ((0.0, 0), (STATE_SECONDS, 1)):
        clock.now += seconds
        with pytest.raises(BusUnavailable):
            await notifications.send_pending()
        assert metric("evenkeel_notifications_waiting") == shown
