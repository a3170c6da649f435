"""Finds load balancers of a configuration whose addresses conflict, or cannot be bound now.

Pure, except for test binds.
"""

from collections.abc import Mapping

import msgspec

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.haproxy.config.compose import HaproxyConfig
from evenkeel.haproxyd.network import binds

BindAddresses = frozenset[binds.BindAddress]
LoadBalancers = Mapping[str, wire.LoadBalancerConfig]


def peer_bind(config: HaproxyConfig) -> binds.BindAddress | None:
    """Return the address and port on which HAProxy accepts its peers; None if it has no peers."""
    return binds.bind_address(config.peer.address, config.peer.port) if config.peer else None


def config_binds(config: HaproxyConfig) -> BindAddresses:
    """Return all addresses and ports on which a HAProxy with this configuration listens, that for peers
    included.
    """
    balancers = (bind for one in config.load_balancers.values() for bind in binds.bind_addresses(one))
    peer = peer_bind(config)
    return frozenset((*balancers, peer)) if peer else frozenset(balancers)


def drop_unbindable_peer(config: HaproxyConfig, listening: BindAddresses) -> tuple[HaproxyConfig, str]:
    """Return the configuration, without peers if their address cannot be bound, and the reason for that;
    empty if it can. Binds the address for a moment.

    ``listening``: addresses on which HAProxy already listens, which are not tested.
    """
    bind = peer_bind(config)
    if bind is None or bind in listening:
        return config, ""
    problem = binds.unbindable_addresses([bind]).get(bind, "")
    return (msgspec.structs.replace(config, peer=None, peer_key="", peers=()) if problem else config), problem


def unbindable_load_balancers(
    config: HaproxyConfig, running: HaproxyConfig, listening: BindAddresses
) -> dict[str, str]:
    """Return ``{load balancer id: reason}`` of load balancers with new addresses that cannot be bound; others
    are missing. Binds the addresses for a moment.

    ``running``: the configuration that runs; ``listening``: addresses on which HAProxy already listens, which
    are not tested.
    """
    # HAProxy listens on the peers' address too, but a load balancer cannot have that one, so it is tested as a new one.
    balancers_binds = listening - {peer_bind(running)}
    new = {
        bind: one.id
        for one in config.load_balancers.values()
        if one != running.load_balancers.get(one.id)
        for bind in binds.bind_addresses(one)
        if bind not in balancers_binds
    }
    problems = binds.unbindable_addresses(new)
    return {new[bind]: problem for bind, problem in problems.items()}


def bindable_load_balancers(previous: LoadBalancers, listening: BindAddresses) -> LoadBalancers:
    """Return the ``previous`` load balancers whose addresses can all be bound. ``listening``: addresses on which
    HAProxy listens, which are not tested.

    The test is needed because HAProxy may not run them, if they come from the disk.
    """
    return {
        name: one
        for name, one in previous.items()
        if not binds.unbindable_addresses(set(binds.bind_addresses(one)) - listening)
    }


def listening_load_balancers(wanted: LoadBalancers, listening: BindAddresses) -> LoadBalancers:
    """Return the ``wanted`` load balancers that have a frontend all of whose addresses are in ``listening`` (those
    on which HAProxy listens), without their other frontends.
    """
    found = {}
    for name, one in wanted.items():
        frontends = tuple(each for each in one.frontends if listening.issuperset(binds.frontend_addresses(each)))
        if any(each.binds for each in frontends):
            found[name] = msgspec.structs.replace(one, frontends=frontends)
    return found


def replace_unbindable(config: HaproxyConfig, running: LoadBalancers, errors: dict[str, str]) -> HaproxyConfig:
    """Return the configuration with the load balancers in ``errors`` (reasons by id) replaced by those in
    ``running``, or left out.

    Load balancers that conflict with these are replaced, too, and added to ``errors``.
    """
    if not errors:
        return config
    kept = {name: one for name, one in config.load_balancers.items() if name not in errors}
    as_now = {name: one for name, one in running.items() if name in errors}
    more = binds.conflicting_load_balancers(as_now.values(), kept.values())
    fitting = msgspec.structs.replace(config, load_balancers=kept | as_now)
    errors.update(more)
    # Each round adds load balancers to `errors`, so the recursion ends.
    return replace_unbindable(fitting, running, errors) if more else fitting


def ping_settings_differ(before: HaproxyConfig, after: HaproxyConfig) -> bool:
    """Whether the configurations differ in settings or addresses of the daemon's own checks (ICMP, UDP,
    SCTP).
    """

    def ping_settings(
        config: HaproxyConfig,
    ) -> set[tuple[str, wire.Ping | None, tuple[tuple[str | None, int | None], ...]]]:
        return {
            (backend.name, backend.ping, tuple((server.ping_address, server.ping_port) for server in backend.servers))
            for one in config.load_balancers.values()
            for backend in one.backends
        }

    return ping_settings(before) != ping_settings(after)
