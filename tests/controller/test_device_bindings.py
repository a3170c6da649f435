"""Ports of devices' addresses are bound to their new host, until the network service has accepted it."""

from collections.abc import Awaitable, Callable

import pytest

from evenkeel.controller.device_bindings import DeviceBindings
from evenkeel.core.kit.backoff import Backoff
from evenkeel.core.kit.errors import Conflict, NetworkUnavailable
from evenkeel.core.networking.network import DeviceBinding, PortOptions


class Store:
    """Bindings that are due at every look until they were made."""

    def __init__(self, **hosts: str) -> None:
        self.hosts: dict[str, str | None] = dict(hosts)

    async def take_due_bindings(self, *, limit: int, backoff: Backoff) -> tuple[str, ...]:
        assert limit > 0 < backoff.initial_seconds
        return tuple(self.hosts)

    async def find_binding(self, claim_id: str) -> DeviceBinding | None:
        host = self.hosts[claim_id]
        return None if host is None else DeviceBinding(claim_id=claim_id, port_id=f"port-{claim_id}", host=host)

    async def record_binding(self, claim_id: str, host: str | None) -> None:
        if self.hosts[claim_id] == host:
            del self.hosts[claim_id]


class Ports:
    """Ports at the network service, and their hosts."""

    def __init__(self) -> None:
        self.hosts: dict[str, str | None] = {}
        self.error: Exception | None = None
        self.before: Callable[[], None] = lambda: None
        """Called before the wanted host is read."""

    async def set_options(self, port_id: str, read: Callable[[], Awaitable[PortOptions | None]]) -> None:
        if self.error is not None:
            raise self.error
        self.before()
        options = await read()
        assert options is not None and options.security_group_ids is None, "they are not to be changed"
        self.hosts[port_id] = options.binding_host


async def look(store: Store, ports: Ports) -> None:
    await DeviceBindings(store, ports).bind_due()  # type: ignore[arg-type]


async def test_ports_are_bound_to_the_newest_host() -> None:
    store, ports = Store(a="host-1", b="host-1"), Ports()
    ports.before = lambda: store.hosts.update(b="host-2")
    await look(store, ports)
    assert ports.hosts == {"port-a": "host-1", "port-b": "host-2"} and not store.hosts


async def test_port_without_a_host_is_not_bound() -> None:
    store, ports = Store(), Ports()
    store.hosts["a"] = None
    await look(store, ports)
    assert not ports.hosts and not store.hosts


async def test_binding_is_retried_until_it_succeeds() -> None:
    store, ports = Store(a="host-1"), Ports()
    ports.error = Conflict("no")
    await look(store, ports)
    ports.error = NetworkUnavailable("down")
    with pytest.raises(NetworkUnavailable):
        await look(store, ports)
    assert store.hosts == {"a": "host-1"}
    ports.error = None
    await look(store, ports)
    assert ports.hosts == {"port-a": "host-1"} and not store.hosts
