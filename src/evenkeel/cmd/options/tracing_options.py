"""The options of ``[tracing]``, the same for controllers, agents and the daemon."""

import socket
from collections.abc import Callable
from urllib.parse import urlsplit

from oslo_config import cfg

from evenkeel.cmd.options.extras import pip_install_command
from evenkeel.core.kit.tracing import NoTracer, use_tracer

TRACING_OPTIONS = [
    cfg.StrOpt(
        "endpoint",
        default="",
        help="URL of a collector of traces by OTLP over HTTP, such as http://collector:4318/v1/traces; empty: no "
        "traces. Needs the extra tracing.",
    ),
    cfg.FloatOpt(
        "share",
        default=1.0,
        min=0.0,
        max=1.0,
        help="Share of the API's requests traced; the same in all processes, or traces are incomplete.",
    ),
]


def open_tracing(conf: cfg.ConfigOpts, service: str) -> Callable[[], None]:
    """Export traces of this process as configured in ``[tracing]``, if an endpoint is set; returns a function
    that ends the export and blocks for seconds at most.

    Raises :class:`ValueError` for an invalid endpoint or missing libraries. ``service``: the process's name
    in traces.
    """
    endpoint = conf.tracing.endpoint
    if not endpoint:
        return lambda: None
    _check_endpoint(endpoint)
    try:
        from evenkeel.tracing.export import TraceExport
    except ImportError as error:
        raise ValueError(
            f"tracing.endpoint: traces need {error.name}, which is not installed: {pip_install_command('tracing')}"
        ) from error
    exporting = TraceExport(endpoint, service=service, instance=socket.gethostname(), share=conf.tracing.share)
    use_tracer(exporting.tracer)

    def close() -> None:
        # First, so that no span begins after the last ones were sent.
        use_tracer(NoTracer())
        exporting.close()

    return close


def _check_endpoint(endpoint: str) -> None:
    try:
        parts = urlsplit(endpoint)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable:
        raise ValueError("tracing.endpoint: is not a URL like http://collector:4318/v1/traces")
    if parts.username or parts.password:
        raise ValueError("tracing.endpoint: a password in it would be in logs; use OTEL_EXPORTER_OTLP_HEADERS")
