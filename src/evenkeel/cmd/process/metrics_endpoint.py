"""The server of ``/metrics``, configured in ``[metrics]``."""

import ssl
from collections.abc import Awaitable, Callable

import structlog
from oslo_config import cfg
from prometheus_client import REGISTRY

from evenkeel.cmd.options.server_tls import server_tls_context
from evenkeel.cmd.process.endpoint import bound_socket
from evenkeel.core.networking.addresses import is_loopback
from evenkeel.metrics.server import Expose, ScrapeServer, do_nothing, expose_registry

log = structlog.get_logger(__name__)

METRICS_CERTIFICATE_OPTIONS = ("metrics.ssl_cert_file", "metrics.ssl_key_file", "metrics.ssl_client_ca_file")


class MetricsEndpoint:
    """Serves ``/metrics`` as configured; without a port it does nothing.

    The port is bound at the creation, so that an address in use is reported at the start. ``listens``: False
    if a parent process serves the metrics. Raises :class:`ValueError` for an invalid configuration or
    address.
    """

    def __init__(self, conf: cfg.ConfigOpts, *, listens: bool = True) -> None:
        self._conf = conf
        self._server: ScrapeServer | None = None
        self._tls = metrics_tls_context(conf)
        host, port = conf.metrics.bind_host, conf.metrics.bind_port
        self._listening = bound_socket("metrics", host, port) if port and listens else None
        if self._listening is not None and self._tls is None and not is_loopback(conf.metrics.bind_host):
            log.warning("metrics are served without TLS", bind_host=conf.metrics.bind_host)

    async def start(
        self, before_exposition: Callable[[], Awaitable[None]] = do_nothing, *, expose: Expose | None = None
    ) -> None:
        """Start serving, if a port is bound.

        ``before_exposition`` is awaited before each exposition of this process's registry. ``expose``: function that
        returns another exposition instead; ``before_exposition`` is not used then.
        """
        if self._listening is not None:
            self._server = ScrapeServer(
                self._listening, tls=self._tls, expose=expose or expose_registry(REGISTRY, before_exposition)
            )
            await self._server.start()

    def reload(self, changed: cfg.ConfigOpts) -> None:
        """Load the certificate from its files again. Raises :class:`ValueError` like :func:`metrics_tls_context`, or if
        the options turn HTTPS on or off, which needs a restart.
        """
        tls = metrics_tls_context(changed)
        if (tls is None) != (self._tls is None):
            raise ValueError("metrics.ssl_cert_file: HTTPS is turned on and off by a restart")
        if tls is not None and self._server is not None:
            self._server.use_tls(tls)

    async def stop(self) -> None:
        if self._server is not None:
            await self._server.stop()
        elif self._listening is not None:
            # The server was not started; a started one closes the socket itself.
            self._listening.close()


def metrics_tls_context(conf: cfg.ConfigOpts) -> ssl.SSLContext | None:
    """Load the TLS context of ``/metrics``; None: plain HTTP. Raises :class:`ValueError` if the certificate is not
    named but other files are, or a file cannot be loaded.
    """
    files = conf.metrics.ssl_cert_file, conf.metrics.ssl_key_file, conf.metrics.ssl_client_ca_file
    return server_tls_context("metrics", *files)
