"""What keeps us from a broker, said in words and not too often.

A broker that refuses us does so at every attempt and to each of our connections. It is told once, again when the
reason changes, and then each minute.
"""

import contextlib
import ssl
import time
from collections.abc import Callable, Iterator

import structlog
from aiormq.exceptions import AuthenticationError, ConnectionNotAllowed, InvalidFrameError, ProbableAuthenticationError

from evenkeel.bus.amqp.nodes import Node
from evenkeel.core.errors import BusUnavailable

REPEAT_SECONDS = 60.0

log = structlog.get_logger(__name__)


class ConnectionRefused(BusUnavailable):
    """The broker is there, and does not let us in or is not to be trusted: somebody has to change something."""


@contextlib.contextmanager
def refusals(node: Node) -> Iterator[None]:
    """Turn what connecting raises if we are refused into :class:`ConnectionRefused`."""
    try:
        yield
    except (AuthenticationError, ProbableAuthenticationError) as error:
        raise ConnectionRefused(f"log-in as {node.user} refused: {error}"[:300]) from error
    except (ConnectionNotAllowed, InvalidFrameError) as error:
        if isinstance(error, InvalidFrameError) and "OpenOk" not in str(error):
            raise
        # the library drops the broker's words here
        raise ConnectionRefused(
            f"virtual host {node.vhost} refused: it does not exist, is not for {node.user}, or is at its limit"
        ) from error
    except OSError as error:
        untrusted = error.__cause__ if isinstance(error.__cause__, ssl.SSLError) else error
        if not isinstance(untrusted, ssl.SSLError):
            raise
        raise ConnectionRefused(f"TLS: {_tls_reason(untrusted)}") from error


def _tls_reason(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate cannot be verified: {error.verify_message}"
    return str(error.reason or error)


class ConnectionErrorLog:
    """The log lines about brokers out of reach, for all connections of a bus."""

    def __init__(self, now_seconds: Callable[[], float] = time.monotonic) -> None:
        self._now_seconds = now_seconds
        self._said: dict[Node, tuple[str, float]] = {}

    def failed(self, node: Node, error: BusUnavailable) -> None:
        """A connection to ``node`` could not be made."""
        reason, now = str(error), self._now_seconds()
        said, at = self._said.get(node, ("", 0.0))
        if reason == said and now < at + REPEAT_SECONDS:
            return
        self._said[node] = reason, now
        if isinstance(error, ConnectionRefused):
            log.error("message broker refuses us", node=str(node), reason=reason)
        else:
            log.warning("message broker out of reach", node=str(node), reason=reason)

    def connected(self, node: Node) -> None:
        """It could be made."""
        self._said.pop(node, None)
