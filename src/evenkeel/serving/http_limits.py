"""Limits of HTTP requests. They have a module of their own, because the options name them where no HTTP server is
installed.
"""

from evenkeel.core.kit.values import Value


class HttpLimits(Value):
    """Limits of a request's size and duration."""

    target_bytes_max: int = 16 * 1024
    """Largest size of a request's path and query."""
    header_bytes_max: int = 64 * 1024
    """Largest size of a request's header: names and values, with the request line."""
    headers_max: int = 100
    header_seconds: float = 10.0
    """Seconds from the beginning of a connection, or of a further request on it, to the end of the request's header."""
    unread_bytes_max: int = 1024 * 1024
    unread_seconds: float = 5.0
    """Seconds for which the rest of a request's body is read after the response, because closing at once would discard
    the response before the client reads it.
    """
    write_seconds: float = 30.0
    """Seconds for which the client may read nothing of a response."""
