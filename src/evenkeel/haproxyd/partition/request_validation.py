"""Validates requests as a whole: an invalid one is refused completely.

Load balancers are validated one by one (:mod:`partition.validation`).
"""

from collections import Counter

from evenkeel.core.control.epochs import EPOCH_MAX, is_epoch_in_range
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.errors import InvalidChange
from evenkeel.haproxyd.network.peer_keys import certificate_problem
from evenkeel.haproxyd.partition.validation import (
    CONTROL_CHARACTER_PATTERN,
    NAME_PATTERN,
    address_problem,
    name_problem,
)
from evenkeel.haproxyd.settings import DaemonSettings

PEERS_MAX = 16
OWNER_CHARS_MAX = 200


def check_change(change: wire.PartitionChange, *, complete: bool, settings: DaemonSettings) -> None:
    """Raise :class:`InvalidChange` if the request as a whole is invalid: its epoch, session, names, number of
    load balancers, or peers. ``complete``: the request is a PUT.
    """
    check_guard(wire.GuardState(epoch=change.epoch, session_id=change.session_id))
    if complete and change.removed:
        raise InvalidChange("removed: only PATCH takes it; PUT removes what it does not name")
    named = [*(one.id for one in change.load_balancers), *change.removed]
    if len(named) > settings.load_balancers_max:
        raise InvalidChange(f"load_balancers: {len(named)} given; at most {settings.load_balancers_max} are allowed")
    for name, count in Counter(named).items():
        check_name("load balancer id", name)
        if count > 1:
            raise InvalidChange(f"load balancer {name} is named {count} times; once is allowed")
    if len(change.peers or ()) > PEERS_MAX:
        raise InvalidChange(f"peers: {len(change.peers or ())} given; at most {PEERS_MAX} are allowed")
    for peer in change.peers or ():
        check_name("peer name", peer.name)
        problem = address_problem(f"peer {peer.name}", peer.address, peer.port)
        if problem:
            raise InvalidChange(problem)
        problem = certificate_problem(peer.certificate)
        if problem:
            raise InvalidChange(f"peer {peer.name}: certificate: {problem}")


def check_guard(guard: wire.GuardState) -> None:
    """Raise :class:`InvalidChange` if epoch, session id or owner of the guard is not allowed."""
    if not is_epoch_in_range(guard.epoch):
        raise InvalidChange(f"epoch is {guard.epoch}; a whole number from 0 to {EPOCH_MAX} is allowed")
    check_name("session_id", guard.session_id)
    if len(guard.owner) > OWNER_CHARS_MAX or CONTROL_CHARACTER_PATTERN.search(guard.owner):
        raise InvalidChange(f"owner: at most {OWNER_CHARS_MAX} characters and no control characters are allowed")


def check_name(subject: str, name: str) -> None:
    """Raise :class:`InvalidChange` if ``name`` is not a valid name. ``subject``: the kind of name, for the message."""
    if not NAME_PATTERN.fullmatch(name):
        raise InvalidChange(name_problem(subject, name))
