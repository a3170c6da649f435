"""Settings of the daemon's HTTPS server: addresses, files, timeouts in seconds, and limits of connections and
bodies.
"""

from pathlib import Path

from evenkeel.core.kit.values import Value


class HttpSettings(Value):
    """Settings of the HTTPS server.

    ``endpoint_file``: the daemon writes its URL there once it serves, and removes the file when it stops.
    """

    certificate: Path
    key: Path
    credentials_file: Path
    host: str = "0.0.0.0"  # noqa: S104  # agents are on other hosts, and each has to log in over TLS
    port: int = 9443
    """TCP port of the API; 0: any free port."""
    endpoint_file: Path | None = None

    connections_max: int = 500
    """Maximum of open connections; never more than the limit of open files allows. At the maximum, a new connection
    closes the oldest unauthenticated one."""
    connections_per_address_max: int = 100
    """Maximum number of concurrent connections from one address; 0: no limit."""
    header_seconds: float = 10.0
    """Timeout of the TLS handshake, and of each request's header."""
    login_seconds: float = 30.0
    """Time after which a connection without a valid login is closed."""
    unread_seconds: float = 5.0
    """Time for which the server still reads the rest of a request's body after sending the response."""
    write_seconds: float = 30.0
    """Timeout of writes: time within which the client must read each part of the response."""
    body_bytes_max: int = 64 * 1024 * 1024
    body_seconds: float = 30.0
    """Timeout of a request's body."""
    change_seconds: float = 120.0
    """Time-out of the response to a change. A slower change continues, and its client gets an error that allows a
    retry."""
    keep_alive_seconds: float = 75.0
    events_wait_seconds_max: float = 60.0
    events_waiting_max: int = 64
    """Maximum number of concurrent long polls for events."""
    observe_every_seconds: float = 15.0
    """Interval at which the daemon reads counters without a request, so that little is lost when a HAProxy crashes."""
