from evenkeel.serving.connections import Connection, ConnectionLimits, Connections
from evenkeel.serving.peers import parse_networks


class World:
    """A table, and which of its connections had to go."""

    def __init__(self, connections_max: int, per_address_max: int = 0, shared: tuple[str, ...] = ()) -> None:
        limits = ConnectionLimits(
            connections_max=connections_max, per_address_max=per_address_max, shared=parse_networks(shared, "x")
        )
        self.refused: list[str] = []
        self.table = Connections(limits, lambda reason, peer: self.refused.append(reason))
        self.closed: list[Connection] = []

    def admit(self, address: str, *, known: bool = False) -> Connection | None:
        connection = self.table.admit(address)
        if connection is not None:
            connection.close = lambda: self.closed.append(connection)
            if known:
                connection.mark_authenticated()
        return connection


def test_the_stranger_who_came_first_goes_for_the_newcomer_and_who_is_known_stays() -> None:
    world = World(3)
    agent = world.admit("10.0.0.1", known=True)
    first, second = world.admit("10.0.0.2"), world.admit("10.0.0.3")
    third = world.admit("10.0.0.4")
    assert world.closed == [first] and len(world.table) == 3
    assert world.admit("10.0.0.5", known=True)
    assert world.closed == [first, second]
    assert world.admit("10.0.0.6", known=True) and world.closed == [first, second, third]
    assert world.admit("10.0.0.7") is None  # all others have logged in
    assert agent is not None and agent not in world.closed
    agent.release()
    assert world.admit("10.0.0.7")


def test_address_with_a_recent_login_is_not_closed_for_a_stranger() -> None:
    world = World(2)
    once = world.admit("10.0.0.1", known=True)
    assert once is not None
    once.release()
    agent, stranger = world.admit("10.0.0.1"), world.admit("10.0.0.2")
    another = world.admit("10.0.0.3")
    assert world.closed == [stranger]
    assert another is not None
    another.mark_authenticated()
    assert world.admit("10.0.0.4") is None
    assert agent not in world.closed
    assert world.admit("10.0.0.1") and world.closed == [stranger, agent]  # its own address may


def test_an_address_closes_its_own_strangers_only() -> None:
    world = World(100, per_address_max=2)
    other = world.admit("10.0.0.9")
    first = world.admit("10.0.0.1")
    assert world.admit("10.0.0.1") and world.admit("10.0.0.1")
    assert world.closed == [first] and other not in world.closed
    full = World(100, per_address_max=2)
    assert full.admit("10.0.0.1", known=True) and full.admit("10.0.0.1", known=True)
    assert full.admit("10.0.0.1") is None
    assert full.refused == ["an address has too many connections that are logged in"]


def test_an_ipv6_network_and_a_mapped_address_are_one_host() -> None:
    world = World(100, per_address_max=1)
    first = world.admit("2001:db8::1")
    assert world.admit("2001:db8::2:3") and world.closed == [first]
    second = world.admit("10.0.0.1")
    assert world.admit("::ffff:10.0.0.1") and world.closed == [first, second]


def test_proxies_have_no_limit_of_their_own() -> None:
    world = World(100, per_address_max=1, shared=("10.0.0.0/24",))
    for _ in range(50):
        assert world.admit("10.0.0.7")
    assert not world.closed


def test_releasing_twice_counts_once_and_leaves_nothing_behind() -> None:
    world = World(3, per_address_max=1)
    connection = world.admit("10.0.0.1")
    assert connection is not None
    connection.release()
    connection.release()
    assert len(world.table) == 0 and not vars(world.table)["_counts"] and not vars(world.table)["_unauthenticated_of"]
