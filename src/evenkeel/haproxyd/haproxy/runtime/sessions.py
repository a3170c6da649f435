"""Sessions of a worker, as ``show sess`` lists them: a client's connection with the server that it was given to."""

from collections.abc import Container, Iterator

SHOW_SESSIONS = "show sess"


def session_shutdown_commands(session_list: str, servers: Container[tuple[str, str]]) -> Iterator[str]:
    """Yield a command that ends the session, for each session in ``session_list`` (the answer to :data:`SHOW_SESSIONS`)
    whose ``(backend, server)`` is in ``servers``.
    """
    for line in session_list.splitlines():
        identifier, separator, rest = line.partition(": ")
        if separator and identifier.startswith("0x"):
            fields = dict(field.partition("=")[::2] for field in rest.split())
            if (fields.get("be"), fields.get("srv")) in servers:
                yield f"shutdown session {identifier}"
