"""Sessions of a worker, as ``show sess`` lists them: a client's connection with the server that it was given to."""

from collections.abc import Container, Iterator

SESSIONS = "show sess"


def session_shutdowns(listed: str, servers: Container[tuple[str, str]]) -> Iterator[str]:
    """Yield the command for each listed session that ends it, for those of ``servers``: ``(backend, server)``."""
    for line in listed.splitlines():
        identifier, separator, rest = line.partition(": ")
        if separator and identifier.startswith("0x"):
            fields = dict(field.partition("=")[::2] for field in rest.split())
            if (fields.get("be"), fields.get("srv")) in servers:
                yield f"shutdown session {identifier}"
