"""How the daemon is reached. Every wait has an end and every size a limit."""

from pathlib import Path

from evenkeel.core.values import Value


class HttpSettings(Value):
    """HTTPS only. ``endpoint_file``: the URL is written there once the daemon answers; removed when it stops."""

    certificate: Path
    key: Path
    credentials_file: Path
    host: str = "0.0.0.0"  # noqa: S104  # agents are on other hosts, and each has to log in over TLS
    port: int = 9443
    """0 takes a free one."""
    endpoint_file: Path | None = None

    connections_max: int = 500
    """Held at once; at most what the limit of open files allows. A new one closes the oldest on which nobody has
    logged in."""
    connections_per_address_max: int = 100
    """0: no limit."""
    header_seconds: float = 10.0
    """For a TLS handshake, and again for the header of a request, to arrive."""
    login_seconds: float = 30.0
    """How long a connection may be nobody's."""
    unread_seconds: float = 5.0
    """How long the rest of a body is taken that was answered already."""
    write_seconds: float = 30.0
    """For the other side to take some of an answer."""
    body_bytes_max: int = 64 * 1024 * 1024
    body_seconds: float = 30.0
    """For a request's body to arrive."""
    change_seconds: float = 120.0
    """For an answer to a change; one that takes longer goes on, and its sender is told to ask again."""
    keep_alive_seconds: float = 75.0
    events_wait_seconds_max: float = 60.0
    events_waiting_max: int = 64
    """Agents that wait for events at the same time."""
    observe_every_seconds: float = 15.0
    """Counters are looked at this often also if nobody asks, so that little is lost if a HAProxy crashes."""
