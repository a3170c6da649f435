"""What of a wish can be had now: who cannot be listened for, and who is in whose way. Pure but for trying to bind."""

import msgspec

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.haproxy.compose import Wish
from evenkeel.haproxyd.network import binds

Places = frozenset[binds.Place]


def peer_place(wish: Wish) -> binds.Place | None:
    """Where HAProxy listens for its peers."""
    return binds.place(wish.peer.address, wish.peer.port) if wish.peer else None


def places_of(wish: Wish) -> Places:
    """Everywhere that a HAProxy which does this listens."""
    balancers = (place for one in wish.load_balancers.values() for place in binds.places(one))
    peer = peer_place(wish)
    return frozenset((*balancers, peer)) if peer else frozenset(balancers)


def with_bindable_peer(wish: Wish, ours: Places) -> tuple[Wish, str]:
    """A HAProxy that cannot listen for its peers does without them, and why; no load balancer is to blame. ``ours``:
    where it listens already."""
    place = peer_place(wish)
    if place is None or place in ours:
        return wish, ""
    problem = binds.unbindable([place]).get(place, "")
    return (Wish(load_balancers=wish.load_balancers) if problem else wish), problem


def unbindable(wish: Wish, doing: Wish, ours: Places) -> dict[str, str]:
    """Load balancers whose new places cannot be listened on, so that HAProxy never tries."""
    balancers_places = ours - {peer_place(doing)}
    new = {
        place: one.id
        for one in wish.load_balancers.values()
        if one != doing.load_balancers.get(one.id)
        for place in binds.places(one)
        if place not in balancers_places
    }
    problems = binds.unbindable(new)
    return {new[place]: problem for place, problem in problems.items()}


def without(wish: Wish, doing: Wish, bad: dict[str, str]) -> Wish:
    """The wish with some load balancers as they are now; those who would be in their way join them in ``bad``."""
    if not bad:
        return wish
    kept = {name: one for name, one in wish.load_balancers.items() if name not in bad}
    as_now = {name: one for name, one in doing.load_balancers.items() if name in bad}
    more = binds.in_the_way(as_now.values(), kept.values())
    fitting = msgspec.structs.replace(wish, load_balancers=kept | as_now)
    bad.update(more)
    return without(fitting, doing, bad) if more else fitting


def ping_changed(before: Wish, after: Wish) -> bool:
    """Is there a difference that the daemon itself has to carry out?"""

    def pings(wish: Wish) -> set[tuple[str, wire.Ping | None, tuple[str | None, ...]]]:
        return {
            (backend.name, backend.ping, tuple(server.ping_address for server in backend.servers))
            for one in wish.load_balancers.values()
            for backend in one.backends
        }

    return pings(before) != pings(after)
