"""Texts about pending automatic, irreversible removals, for the status of the whole system."""

from collections.abc import Iterator

from evenkeel.core.control.orphans import OrphanSummary
from evenkeel.core.kit.countdowns import RemovalCountdowns
from evenkeel.core.kit.words import count_with_noun


def countdown_texts(orphans: OrphanSummary, others: RemovalCountdowns, *, devices_away: bool) -> Iterator[str]:
    """Yield one text for each kind of pending removal, with the remaining time and the command that lists the objects.
    ``devices_away``: some devices are out of reach.
    """
    for count, seconds, what in (
        (orphans.load_balancers, orphans.load_balancers_removed_in_seconds, "load balancer"),
        (orphans.partitions, orphans.partitions_removed_in_seconds, "partition"),
    ):
        if count:
            when = (
                "none is removed automatically"
                if seconds is None
                else f"the first is removed in {duration_text(seconds)}"
            )
            lacking = count_with_noun(count, f"{what} on devices is", f"{what}s on devices are")
            yield f"{lacking} not in the database; {when}: evenkeel orphan list"
    yield from _unused_port_texts(others)
    if others.events and others.events >= others.events_kept:
        age = duration_text(others.oldest_event_seconds)
        yield f"each new event removes the oldest of {others.events_kept}, which is {age} old: evenkeel events"
    if devices_away and others.forgotten and others.forgotten_in_seconds is not None:
        deleted = count_with_noun(others.forgotten, "deleted load balancer is", "deleted load balancers are")
        yield (
            f"{deleted} forgotten within a day, the first in"
            f" {duration_text(others.forgotten_in_seconds)}: on a device that is away until then it is an orphan"
        )


def _unused_port_texts(others: RemovalCountdowns) -> Iterator[str]:
    if others.ports:
        seconds = others.ports_deleted_in_seconds
        when = (
            "none is deleted while a history is unknown"
            if seconds is None
            else f"the first is deleted in {duration_text(seconds)}"
        )
        command = f"openstack port list --device-id {others.port_device_id}"
        ports = count_with_noun(others.ports, "port at the network service is", "ports at the network service are")
        yield f"{ports} used by nothing; {when}: {command}"


def duration_text(seconds: float) -> str:
    """Format seconds as days and hours (from 48 hours on), hours and minutes, minutes, or seconds below a
    minute.
    """
    minutes = int(seconds) // 60
    if minutes >= 48 * 60:
        return f"{minutes // (24 * 60)} d {minutes // 60 % 24} h"
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min" if minutes else f"{seconds:.0f} s"
