"""Limits on a server's connections, so that unauthenticated clients cannot keep authenticated ones out.

A connection is unauthenticated until a login or client certificate on it
(:meth:`Connection.mark_authenticated`). When an address, or all together, would exceed a limit, the oldest
unauthenticated connection (at an address's limit: of this address) is closed in favour of the new one;
authenticated connections stay. Connections of addresses that authenticated recently are not closed in favour
of other addresses that never did. A new connection is refused if none may be closed for it.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence

from evenkeel.core.kit.values import Value
from evenkeel.serving.peers import Network, client_identity, is_in_networks

HOSTS_REMEMBERED = 10_000
"""Most addresses remembered as authenticated; the oldest one is dropped."""


class ConnectionLimits(Value):
    """Limits of connections. ``per_address_max`` 0: no limit per address."""

    connections_max: int
    per_address_max: int = 0
    shared: Sequence[Network] = ()
    """Addresses that many clients share, such as proxies: they have no limit per address."""


class Connection:
    """A connection in the table of :class:`Connections`. ``address``: the client's IP address; ``host``: the
    client's identity by :func:`client_identity`; ``close``: function that closes the connection
    immediately.
    """

    __slots__ = ("_table", "address", "close", "expected", "host", "is_authenticated")

    def __init__(self, table: "Connections", address: str, host: str, *, expected: bool) -> None:
        self._table = table
        self.address = address
        self.host = host
        self.close: Callable[[], object] = lambda: None
        self.expected = expected
        """True if the connection's address has authenticated before."""
        self.is_authenticated = False

    def mark_authenticated(self) -> None:
        """Mark the connection as authenticated: it is no longer closed in favour of others. The table
        remembers its address.
        """
        if not self.is_authenticated:
            self._table.note_authenticated(self)

    def release(self) -> None:
        """Remove the closed connection from the table; harmless if repeated."""
        self._table.release(self)


_Queue = OrderedDict[Connection, None]


class Connections:
    """Table of a server's connections, which enforces their limits."""

    def __init__(
        self, limits: ConnectionLimits, refused: Callable[[str, str], None] = lambda reason, peer: None
    ) -> None:
        """Initialize the table. ``refused``: called with the reason and the client's address when a connection is
        closed in favour of another one, or refused.
        """
        self._limits = limits
        self._refused = refused
        self._counts: Counter[str] = Counter()
        self._held: set[Connection] = set()
        self._unauthenticated: dict[bool, _Queue] = {False: OrderedDict(), True: OrderedDict()}
        self._unauthenticated_of: dict[str, _Queue] = {}
        self._hosts: OrderedDict[str, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._held)

    def admit(self, address: str) -> Connection | None:
        """Add a new connection from the address to the table, if necessary closing an unauthenticated one,
        and return it; None: the connection is refused, because of a limit, and the caller closes it.
        """
        host = client_identity(address)
        if not self._make_space(address, host):
            return None
        connection = Connection(self, address, host, expected=host in self._hosts)
        self._held.add(connection)
        self._counts[host] += 1
        self._unauthenticated[connection.expected][connection] = None
        self._unauthenticated_of.setdefault(host, OrderedDict())[connection] = None
        return connection

    def _make_space(self, address: str, host: str) -> bool:
        limits = self._limits
        if (
            limits.per_address_max
            and self._counts[host] >= limits.per_address_max
            and not is_in_networks(address, limits.shared)
        ):
            # Only connections of the same address make space: an address at its own limit must not displace other
            # clients.
            if not self._close_first(self._unauthenticated_of.get(host, {}), "an address has too many connections"):
                self._refused("an address has too many connections that are logged in", address)
                return False
            # The closed connection has freed a place in total as well.
            return True
        return len(self._held) < limits.connections_max or self.close_oldest_unauthenticated(
            expected=host in self._hosts, address=address
        )

    def close_oldest_unauthenticated(self, *, expected: bool = True, address: str = "") -> bool:
        """Close the oldest unauthenticated connection, preferably of an address that never authenticated;
        returns whether there was one. ``expected`` False: only of such an address. ``address``: client
        that is refused if there was none, for the log.
        """
        queues = (
            (self._unauthenticated[False], self._unauthenticated[True]) if expected else (self._unauthenticated[False],)
        )
        if any(self._close_first(queue, "there are too many connections") for queue in queues):
            return True
        self._refused("there are too many connections that are logged in", address)
        return False

    def _close_first(self, queue: "_Queue | dict[Connection, None]", reason: str) -> bool:
        connection = next(iter(queue), None)
        if connection is None:
            return False
        self._refused(reason, connection.address)
        # before closing: the new connection takes its place while the transport still shuts down
        self.release(connection)
        connection.close()
        return True

    def note_authenticated(self, connection: Connection) -> None:
        """Mark the connection as authenticated, and remember its address, up to :data:`HOSTS_REMEMBERED` of
        them.
        """
        connection.is_authenticated = True
        self._forget_unauthenticated_connection(connection)
        self._hosts[connection.host] = None
        self._hosts.move_to_end(connection.host)
        if len(self._hosts) > HOSTS_REMEMBERED:
            self._hosts.popitem(last=False)

    def release(self, connection: Connection) -> None:
        """Remove a connection that has ended from the table; nothing happens if it was removed before."""
        # A connection that was closed in favour of another one is released twice: then, and when its transport is
        # lost.
        if connection not in self._held:
            return
        self._held.discard(connection)
        self._forget_unauthenticated_connection(connection)
        self._counts[connection.host] -= 1
        if not self._counts[connection.host]:
            del self._counts[connection.host]

    def _forget_unauthenticated_connection(self, connection: Connection) -> None:
        self._unauthenticated[connection.expected].pop(connection, None)
        of_host = self._unauthenticated_of.get(connection.host)
        if of_host is not None:
            of_host.pop(connection, None)
            if not of_host:
                del self._unauthenticated_of[connection.host]
