"""Opens the bus that a ``transport_url`` names."""

from evenkeel.bus.access import AgentAccess, ControllerAccess
from evenkeel.bus.codec import MAX_MESSAGE_BYTES
from evenkeel.core.ports import Bus

AMQP = ("amqp", "amqps", "rabbit", "rabbits")
_SPELLINGS = "memory://name, embedded:///absolute/path/bus.db or amqp://user:password@host:5672,host2:5672/vhost"


def open_bus(
    transport_url: str,
    *,
    name: str,
    max_message_bytes: int = MAX_MESSAGE_BYTES,
    access: AgentAccess | ControllerAccess | None = None,
) -> Bus:
    """Return a bus that is not connected yet. ``name``: name of the process, shown by the broker and in logs.
    ``access``: set if every agent has its own user, which requires RabbitMQ.

    ``rabbit://`` is the same as ``amqp://``, and ``amqps://`` adds TLS. Raises :class:`ValueError` for an
    invalid or unsupported URL, and for ``access`` with another bus or another agent's user; its text never
    contains the URL (which may contain a password).
    """
    scheme, separator, rest = transport_url.partition("://")
    if not separator:
        raise ValueError(f"transport_url: not a URL; use {_SPELLINGS}")
    if access is not None and scheme not in AMQP:
        raise ValueError("rabbit_agents_authenticated: needs RabbitMQ, and transport_url names another bus")
    if scheme == "memory":
        # Imported on use, so that a process loads only the transport, and the client library, that it needs.
        from evenkeel.bus.memory import MemoryBus, shared_hub

        return MemoryBus(shared_hub(rest), name=name, max_message_bytes=max_message_bytes)
    if scheme == "embedded":
        from evenkeel.bus.embedded import EmbeddedBus

        if not rest.startswith("/") or rest.endswith("/"):
            raise ValueError(
                "transport_url: embedded needs an absolute path of a file, embedded:///absolute/path/bus.db"
            )
        return EmbeddedBus(rest, name=name, max_message_bytes=max_message_bytes)
    if scheme in AMQP:
        from evenkeel.bus.amqp import AmqpBus, parse_nodes

        return AmqpBus(parse_nodes(transport_url), name=name, max_message_bytes=max_message_bytes, access=access)
    raise ValueError(f"transport_url: {scheme!r} is not supported; use {_SPELLINGS}")
