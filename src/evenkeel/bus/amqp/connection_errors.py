"""Reasons of failed connections to a broker, logged at a bounded rate.

A broker that refuses a connection refuses every further attempt of every connection, too. So a reason is
logged once, again when it changes, and then every minute.
"""

import contextlib
import ssl
import time
from collections.abc import Callable, Iterator

import structlog
from aiormq.exceptions import AuthenticationError, ConnectionNotAllowed, InvalidFrameError, ProbableAuthenticationError

from evenkeel.bus.amqp.nodes import Node
from evenkeel.core.kit.errors import BusUnavailable

REPEAT_SECONDS = 60.0

log = structlog.get_logger(__name__)


class ConnectionRefused(BusUnavailable):
    """The broker answers, but refuses the log-in or the virtual host, or TLS fails: an operator has to change
    something.
    """


@contextlib.contextmanager
def translate_refusals(node: Node) -> Iterator[None]:
    """Context manager that turns a log-in or virtual host that ``node`` refused, and failures of TLS, into
    :class:`ConnectionRefused`. Other errors pass unchanged.
    """
    try:
        yield
    except (AuthenticationError, ProbableAuthenticationError) as error:
        raise ConnectionRefused(f"log-in as {node.user} refused: {error}"[:300]) from error
    except (ConnectionNotAllowed, InvalidFrameError) as error:
        # aiormq reports a virtual host without access as an unexpected frame in place of Connection.OpenOk; other
        # invalid frames are real errors.
        if isinstance(error, InvalidFrameError) and "OpenOk" not in str(error):
            raise
        # the library drops the broker's text here
        raise ConnectionRefused(
            f"virtual host {node.vhost} refused: it does not exist, {node.user} has no access, or it is at its limit"
        ) from error
    except OSError as error:
        # The client library wraps TLS errors in connection errors, which are OSErrors themselves.
        untrusted = error.__cause__ if isinstance(error.__cause__, ssl.SSLError) else error
        if not isinstance(untrusted, ssl.SSLError):
            raise
        raise ConnectionRefused(f"TLS: {_tls_reason(untrusted)}") from error


def _tls_reason(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate cannot be verified: {error.verify_message}"
    return str(error.reason or error)


class ConnectionErrorLog:
    """Logs failed connections to brokers, for all connections of a bus: the same reason at most once a minute
    for each node.
    """

    def __init__(self, now_seconds: Callable[[], float] = time.monotonic) -> None:
        self._now_seconds = now_seconds
        self._said: dict[Node, tuple[str, float]] = {}

    def record_failure(self, node: Node, error: BusUnavailable) -> None:
        """Record that a connection to ``node`` failed. Logged unless the same reason was logged for this node
        within the last minute.
        """
        reason, now = str(error), self._now_seconds()
        said, at = self._said.get(node, ("", 0.0))
        if reason == said and now < at + REPEAT_SECONDS:
            return
        self._said[node] = reason, now
        if isinstance(error, ConnectionRefused):
            log.error("message broker refuses the connection", node=str(node), reason=reason)
        else:
            log.warning("message broker unreachable", node=str(node), reason=reason)

    def latest_reason(self) -> str:
        """Return the most recently logged reason of a node that was not reached since; empty if there is
        none.
        """
        reason, _ = max(tuple(self._said.values()), key=lambda said: said[1], default=("", 0.0))
        return reason

    def record_connection(self, node: Node) -> None:
        """Record that a connection to ``node`` was established, which clears its last failure."""
        self._said.pop(node, None)
