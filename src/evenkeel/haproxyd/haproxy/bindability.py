"""Which load balancers of a configuration can be bound now, and which are in the way of others. Pure but for trying."""

import msgspec

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.haproxy.compose import HaproxyConfig
from evenkeel.haproxyd.network import binds

Places = frozenset[binds.Place]


def peer_place(config: HaproxyConfig) -> binds.Place | None:
    """Where HAProxy listens for its peers."""
    return binds.place(config.peer.address, config.peer.port) if config.peer else None


def places_of(config: HaproxyConfig) -> Places:
    """Everywhere that a HAProxy which does this listens."""
    balancers = (place for one in config.load_balancers.values() for place in binds.places(one))
    peer = peer_place(config)
    return frozenset((*balancers, peer)) if peer else frozenset(balancers)


def with_bindable_peer(config: HaproxyConfig, ours: Places) -> tuple[HaproxyConfig, str]:
    """A HAProxy that cannot listen for its peers does without them, and why; no load balancer is to blame. ``ours``:
    where it listens already."""
    place = peer_place(config)
    if place is None or place in ours:
        return config, ""
    problem = binds.unbindable([place]).get(place, "")
    return (HaproxyConfig(load_balancers=config.load_balancers) if problem else config), problem


def unbindable(config: HaproxyConfig, running: HaproxyConfig, ours: Places) -> dict[str, str]:
    """Load balancers whose new places cannot be listened on, so that HAProxy never tries."""
    balancers_places = ours - {peer_place(running)}
    new = {
        place: one.id
        for one in config.load_balancers.values()
        if one != running.load_balancers.get(one.id)
        for place in binds.places(one)
        if place not in balancers_places
    }
    problems = binds.unbindable(new)
    return {new[place]: problem for place, problem in problems.items()}


def without(config: HaproxyConfig, running: HaproxyConfig, bad: dict[str, str]) -> HaproxyConfig:
    """The configuration with ``bad`` load balancers as they run now; those in their way are added to ``bad``."""
    if not bad:
        return config
    kept = {name: one for name, one in config.load_balancers.items() if name not in bad}
    as_now = {name: one for name, one in running.load_balancers.items() if name in bad}
    more = binds.in_the_way(as_now.values(), kept.values())
    fitting = msgspec.structs.replace(config, load_balancers=kept | as_now)
    bad.update(more)
    return without(fitting, running, bad) if more else fitting


def ping_changed(before: HaproxyConfig, after: HaproxyConfig) -> bool:
    """Is there a difference that the daemon itself has to carry out?"""

    def pings(config: HaproxyConfig) -> set[tuple[str, wire.Ping | None, tuple[str | None, ...]]]:
        return {
            (backend.name, backend.ping, tuple(server.ping_address for server in backend.servers))
            for one in config.load_balancers.values()
            for backend in one.backends
        }

    return pings(before) != pings(after)
