"""Decides how a running configuration becomes the wanted one: nothing, runtime commands, or a new worker. Pure.

Commands are used only where they leave the process in the same state as a reload of the new file would, and only with
words without special meaning to the runtime API. All other changes require a reload, which is always correct.
"""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from evenkeel.core.kit.values import Value
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.haproxy.binary import NO_CHECK_SNI_ARGUMENT, HaproxyBinary
from evenkeel.haproxyd.haproxy.config.check_timeouts import limits_client_connects
from evenkeel.haproxyd.haproxy.config.compose import (
    HaproxyConfig,
    server_address,
    server_ids,
    server_line_words,
    supports_live_policies,
)
from evenkeel.haproxyd.haproxy.config.live_policies import GENERATIONS, POLICIES, LivePolicies, plan_live_frontend
from evenkeel.haproxyd.haproxy.config.loaded import config_texts, names_in_texts
from evenkeel.haproxyd.haproxy.config.server_arguments import (
    SERVER_ADDRESS_FOR_CHECKS,
    UNSET_ADDRESS,
    only_check_address_differs,
    parse_server_arguments,
    remove_health_checks,
)
from evenkeel.haproxyd.haproxy.runtime.command import NeedsReload, RuntimeCommand
from evenkeel.haproxyd.haproxy.runtime.file_changes import PAYLOAD_BYTES_MAX, file_changes, key_removals
from evenkeel.haproxyd.haproxy.runtime.master_cli import COMMAND_WORD_PATTERN
from evenkeel.haproxyd.haproxy.runtime.state_file import has_health_source

COMMANDS_MAX = 2000

ServersToDelete = frozenset[tuple[str, str]]
"""Pairs (backend, server) of servers that remain in the process, in maintenance, until they can be deleted."""

_FrontendOrBackend = TypeVar("_FrontendOrBackend", wire.Frontend, wire.Backend)


class RuntimePlan(Value):
    """Runtime commands that make the change, or the reason for a reload.

    ``reason``: why a reload is needed, for the log; empty if commands (or nothing) suffice. ``to_delete``:
    servers to be deleted once they have no connections. ``live``: frontends whose policies were changed since
    HAProxy loaded them, after the commands.
    """

    reason: str = ""
    commands: tuple[RuntimeCommand, ...] = ()
    to_delete: ServersToDelete = frozenset()
    live: LivePolicies = LivePolicies()


def plan_change(
    current: HaproxyConfig,
    wanted: HaproxyConfig,
    binary: HaproxyBinary,
    to_delete: ServersToDelete,
    *,
    live: LivePolicies = LivePolicies(),  # noqa: B008 - frozen
    connections_end: bool = False,
) -> RuntimePlan:
    """Plan how a process with the configuration ``current`` gets to ``wanted``: runtime commands, or a reload
    with its reason.

    ``to_delete``, ``live``: servers that wait for deletion in the process, and its policies changed at
    runtime. ``connections_end``: connections of removed listeners should be ended some time later, which only
    old workers can do, so a reload is planned.
    """
    try:
        if (current.peer, current.peers) != (wanted.peer, wanted.peers):
            raise NeedsReload("peers")
        if current.user != wanted.user:
            raise NeedsReload("user of workers")
        if not current.size.is_enough_for(wanted.size.connections):
            raise NeedsReload(f"size for {wanted.size.connections or 'all'} connections")
        commands: list[RuntimeCommand] = []
        removed_servers: list[tuple[str, str]] = []
        for name in sorted(current.load_balancers.keys() | wanted.load_balancers.keys()):
            before = current.load_balancers.get(name) or wire.LoadBalancerConfig(id=name, revision=0)
            after = wanted.load_balancers.get(name) or wire.LoadBalancerConfig(id=name, revision=0)
            if before != after:
                if connections_end:
                    _refuse_removed_listeners(before, after)
                step = _LoadBalancerChange(before, after, binary, to_delete, removed_servers, live)
                commands.extend(step.commands())
                live = step.live
        # one reload is faster than so many commands
        if len(commands) > COMMANDS_MAX:
            raise NeedsReload("many commands")
        return RuntimePlan(commands=tuple(commands), to_delete=to_delete | frozenset(removed_servers), live=live)
    except NeedsReload as reason:
        return RuntimePlan(reason=str(reason))


class _LoadBalancerChange:
    """Change of one load balancer from ``before`` to ``after``. Yielding the commands appends removed servers
    to ``removed_servers``, and updates ``live``.
    """

    def __init__(
        self,
        before: wire.LoadBalancerConfig,
        after: wire.LoadBalancerConfig,
        binary: HaproxyBinary,
        to_delete: ServersToDelete,
        removed_servers: list[tuple[str, str]],
        live: LivePolicies,
    ) -> None:
        self._before = before
        self._after = after
        self._binary = binary
        self._to_delete = to_delete
        self._removed_servers = removed_servers
        self.live = live
        """Frontends whose policies were changed since HAProxy loaded them, once the commands are sent."""

    def commands(self) -> Iterator[RuntimeCommand]:
        """Yield the runtime commands in order: files first, because listeners may use them, and removed keys
        last.

        Raises :class:`NeedsReload` if no commands can make the change.
        """
        yield from file_changes(self._before, self._after, self._binary)
        yield from self._removal_commands()
        for old, new in _changed_pairs("frontends", self._before.frontends, self._after.frontends):
            yield from self._frontend_commands(old, new)
        for old_backend, new_backend in _changed_pairs("backends", self._before.backends, self._after.backends):
            yield from self._backend_commands(old_backend, new_backend)
        yield from key_removals(self._before, self._after)

    def _removal_commands(self) -> Iterator[RuntimeCommand]:
        """Yield commands that close removed frontends and end the checks of removed backends, which remain in
        the process until the next reload; connections go on as in an old worker.

        Raises :class:`NeedsReload` for a frontend with an access log over TCP, or a backend that is still
        referred to.
        """
        for frontend in _removed_items(self._before.frontends, self._after.frontends):
            if frontend.access_log is not None and frontend.access_log.protocol == "tcp":
                raise NeedsReload(f"frontend {frontend.name} is connected to a log server")
            # `shutdown` alone leaves sockets that a next worker may take over, listening, and nobody accepts
            # (2.6 to 3.4): `disable` ends that.
            yield RuntimeCommand(text=f"disable frontend {frontend.name}")
            yield RuntimeCommand(text=f"shutdown frontend {frontend.name}")
        backends = tuple(_removed_items(self._before.backends, self._after.backends))
        named = names_in_texts(config_texts(self._after)) if backends else frozenset()
        for backend in backends:
            if backend.name in named:
                raise NeedsReload(f"backend {backend.name} is still referred to")
            yield from (
                disable_checks_command(backend.name, server) for server in backend.servers if is_checked(server)
            )

    def _frontend_commands(self, old: wire.Frontend, new: wire.Frontend) -> Iterator[RuntimeCommand]:
        fixed = [(one.binds, one.bind_arguments, one.metrics, one.access_log) for one in (old, new)]
        if fixed[0] != fixed[1]:
            raise NeedsReload(f"frontend {new.name}")
        if old.lines != new.lines:
            yield from self._policy_commands(old, new)
        if old.maxconn != new.maxconn:
            if new.maxconn is None:
                raise NeedsReload(f"frontend {new.name} has no limit of its own")
            yield RuntimeCommand(text=f"set maxconn frontend {new.name} {new.maxconn}")

    def _policy_commands(self, old: wire.Frontend, new: wire.Frontend) -> Iterator[RuntimeCommand]:
        """Yield commands for a frontend of which at most the L7 policies and the default backend differ, and update
        ``live``. Raises :class:`NeedsReload` if other lines differ, the policies cannot be changed at runtime or are
        too large for a command, or the frontend has an access log.
        """
        changed = plan_live_frontend(new.name, old.lines, new.lines, self.live) if supports_live_policies(old) else None
        if changed is None or new.access_log is not None:
            raise NeedsReload(f"frontend {new.name}")
        if changed.entries:
            payload = "".join(f"{expression} {value}\n" for expression, value in changed.entries)
            if len(payload) > PAYLOAD_BYTES_MAX:
                raise NeedsReload(f"frontend {new.name} has large policies")
            yield RuntimeCommand(text=f"add map {POLICIES}", payload=payload)
        # Only now, so that no request is judged by a part of the policies.
        verb = "set" if new.name in self.live.frontends else "add"
        yield RuntimeCommand(text=f"{verb} map {GENERATIONS} {new.name} {changed.generation}/")
        self.live = self.live.replace_frontend(new.name, changed)

    def _backend_commands(self, old: wire.Backend, new: wire.Backend) -> Iterator[RuntimeCommand]:
        if (old.lines, old.dynamic) != (new.lines, new.dynamic):
            yield from self._check_removal_commands(old, new)
            return
        yield from self._server_list_commands(old, new)

    def _check_removal_commands(self, old: wire.Backend, new: wire.Backend) -> Iterator[RuntimeCommand]:
        """Yield commands for a backend whose health checks are removed.

        Raises :class:`NeedsReload` for any other change of the backend's lines.
        """
        left = remove_health_checks(old)
        if left is None or (left.lines, left.dynamic) != (new.lines, new.dynamic):
            raise NeedsReload(f"backend {new.name}")
        if not self._binary.keeps_check_timeout and limits_client_connects(old.lines):
            raise NeedsReload(f"backend {new.name} has another time-out of connections without checks")
        for server in filter(is_checked, old.servers):
            yield disable_checks_command(old.name, server)
            if server.admin_up:
                yield set_health_up_command(old.name, server)  # the last check may have set it down
        yield from self._server_list_commands(left, new)

    def _server_list_commands(self, old: wire.Backend, new: wire.Backend) -> Iterator[RuntimeCommand]:
        before = {server.name: server for server in old.servers}
        after = {server.name: server for server in new.servers}
        for name in before:
            if name not in after:
                yield RuntimeCommand(text=f"set server {old.name}/{name} state maint")
                # in maintenance first: HAProxy deletes only a server without connections
                self._removed_servers.append((old.name, name))
        for name, server in after.items():
            if name in before:
                yield from _server_commands(new.name, before[name], server)
                if old.ping is not None and server.admin_up and not has_health_source(new, server):
                    yield set_health_up_command(new.name, server)  # the daemon's last ping may have set it down
            else:
                yield from self._add_commands(new, server)

    def _add_commands(self, backend: wire.Backend, server: wire.BackendServer) -> Iterator[RuntimeCommand]:
        # The id is the one that the file gives the server, so that hashing places it as after a reload.
        words = server_line_words(server, server_ids(tuple(one.name for one in backend.servers))[server.name])
        if not backend.dynamic or not all(
            COMMAND_WORD_PATTERN.fullmatch(word) for argument in words for word in argument.split(" ")
        ):
            raise NeedsReload(f"server {server.name} cannot be added at runtime")
        if "cookie" in words and not self._binary.supports_cookie_at_runtime:
            raise NeedsReload(f"server {server.name} has a cookie")
        name = f"{backend.name}/{server.name}"
        # HAProxy refuses a server of a name that it still has
        if (backend.name, server.name) in self._to_delete:
            raise NeedsReload(f"server {server.name} is still there")
        text = " ".join(("add server", name, server_address(server), *words, *self._implied_arguments(server)))
        yield RuntimeCommand(text=text, expects="New server registered")
        if server.admin_up:
            yield from enable_check_commands(backend.name, server)
            yield RuntimeCommand(text=f"enable server {name}")

    def _implied_arguments(self, server: wire.BackendServer) -> tuple[str, ...]:
        """Return the arguments that a server in the file has implicitly, by the file's defaults or its other
        arguments.

        A server added at runtime has them only if they are given. Raises :class:`NeedsReload` if this HAProxy
        does not accept them at runtime.
        """
        arguments = parse_server_arguments(server)
        if not arguments.checked_over_tls or not self._binary.sends_name_in_checks:
            return arguments.implied_in_checks
        if not self._binary.supports_no_sni_at_runtime:
            raise NeedsReload(f"server {server.name} is checked over TLS")
        return (*arguments.implied_in_checks, NO_CHECK_SNI_ARGUMENT)


def _refuse_removed_listeners(before: wire.LoadBalancerConfig, after: wire.LoadBalancerConfig) -> None:
    for frontend in _removed_items(before.frontends, after.frontends):
        raise NeedsReload(f"connections of frontend {frontend.name} end after a while")


def _server_commands(backend: str, old: wire.BackendServer, new: wire.BackendServer) -> Iterator[RuntimeCommand]:
    if (old.address, old.port, old.backup) != (new.address, new.port, new.backup):
        raise NeedsReload(f"server {new.name}")
    if old.arguments != new.arguments:
        if not only_check_address_differs(old, new):
            raise NeedsReload(f"server {new.name}")
        yield set_check_address_command(backend, new)
    if old.weight != new.weight:
        yield set_weight_command(backend, new)
    if old.admin_up != new.admin_up:
        if new.admin_up:
            yield from enable_check_commands(backend, new)
        yield set_service_state_command(backend, new)


def enable_check_commands(backend: str, server: wire.BackendServer) -> Iterator[RuntimeCommand]:
    """Yield commands that enable the health checks of a server, if it has any, before it is put into service.

    HAProxy then runs them also while a server added at runtime is in maintenance, unlike the checks of a server in the
    file; so they stay disabled until then.
    """
    if is_checked(server):
        yield RuntimeCommand(text=f"enable health {backend}/{server.name}")


def is_checked(server: wire.BackendServer) -> bool:
    """Whether HAProxy checks the server's health while it is in service."""
    return parse_server_arguments(server).checked


def disable_checks_command(backend: str, server: wire.BackendServer) -> RuntimeCommand:
    """Return the command that ends the health checks of a server; the server's state remains as it is."""
    return RuntimeCommand(text=f"disable health {backend}/{server.name}")


def set_weight_command(backend: str, server: wire.BackendServer) -> RuntimeCommand:
    """Return the command that sets a server's weight."""
    return RuntimeCommand(text=f"set server {backend}/{server.name} weight {server.weight}")


def set_check_address_command(backend: str, server: wire.BackendServer) -> RuntimeCommand:
    """Return the command that sets address and port of a server's health checks."""
    wanted = parse_server_arguments(server)
    address = UNSET_ADDRESS if wanted.check_address == SERVER_ADDRESS_FOR_CHECKS else wanted.check_address
    return RuntimeCommand(text=f"set server {backend}/{server.name} check-addr {address} port {wanted.check_port}")


def set_service_state_command(backend: str, server: wire.BackendServer) -> RuntimeCommand:
    """Return the command that puts a server into service or into maintenance, as configured."""
    return RuntimeCommand(text=f"set server {backend}/{server.name} state {'ready' if server.admin_up else 'maint'}")


def set_health_up_command(backend: str, server: wire.BackendServer) -> RuntimeCommand:
    """Return the command that sets a server's health to up, for a server that nothing checks any more."""
    return RuntimeCommand(text=f"set server {backend}/{server.name} health up")


def _removed_items(
    before: tuple[_FrontendOrBackend, ...], after: tuple[_FrontendOrBackend, ...]
) -> Iterator[_FrontendOrBackend]:
    kept = {one.name for one in after}
    return (one for one in before if one.name not in kept)


def _changed_pairs(
    object_kind: str, before: tuple[_FrontendOrBackend, ...], after: tuple[_FrontendOrBackend, ...]
) -> Iterable[tuple[_FrontendOrBackend, _FrontendOrBackend]]:
    """Return ``(before, after)`` of the frontends or backends that changed, without removed ones.

    Raises :class:`NeedsReload`, with ``object_kind`` as the reason, if there are new ones, or the order differs.
    """
    names = {one.name for one in after}
    before = tuple(one for one in before if one.name in names)
    if [one.name for one in before] != [one.name for one in after]:
        raise NeedsReload(object_kind)
    return [(old, new) for old, new in zip(before, after, strict=True) if old != new]
