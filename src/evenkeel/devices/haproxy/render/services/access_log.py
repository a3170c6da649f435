"""Access logs of tenants as lines of a frontend, its log target and a table. Pure.

A line of the log is one JSON object for one request, or for one connection with TCP. Values that a client
sent are shortened, so that no line is cut in the middle, and escaped by HAProxy's converter ``json``.
"""

from collections.abc import Iterator

from evenkeel.config.esd.parts import LOGGED_PATH_BYTES_MAX, LOGGED_VALUE_BYTES_MAX, AccessLog
from evenkeel.core.devices.service import ServiceListener
from evenkeel.core.resources.model import L7_PROTOCOLS, TLS_PROTOCOL
from evenkeel.devices.haproxy.naming import auxiliary_name, object_name
from evenkeel.devices.haproxy.render.quoting import quote_line
from evenkeel.haproxyd import wire

LOG_COUNTER = "sc2"
"""HAProxy's stick counter for the rate of logged requests or connections; rate limits use the others."""
_SAMPLES_BY_FIELD = {
    "method": "method",
    "host": "req.hdr(host)",
    "http_version": "req.ver",
    # a comma is part of these values and separates no others
    "user_agent": "req.fhdr(user-agent)",
    "referer": "req.fhdr(referer)",
}
"""HAProxy's sample expressions for values of the request, by the name of the field. They are stored in variables,
because the request is gone when its log line is written.
"""

_REQUEST_FIELDS = (
    *((field, f'"%[var(txn.log_{field}),json(utf8s)]"') for field in ("path", *_SAMPLES_BY_FIELD)),
    ("status", "%ST"),
)


def access_log_target(log: AccessLog | None) -> wire.LogTarget | None:
    """Return the target to which a frontend sends its access log; None without one."""
    return None if log is None else wire.LogTarget(address=log.address, port=log.port, protocol=log.protocol)


def access_log_table(name: str) -> wire.Backend:
    """Return the backend whose stick table counts the log lines of the frontend ``name``."""
    # one entry; it is tracked while a request or connection runs, and what it counts is over after a second
    table = "stick-table type integer size 1 expire 10s store gpc0,gpc0_rate(1s)"
    return wire.Backend(name=_table_name(name), lines=("mode http", table))


def access_log_lines(name: str, log: AccessLog, *, over_http: bool) -> Iterator[str]:
    """Yield the lines of the frontend ``name`` that mark the requests or connections to be logged, at most
    ``lines_per_second``, and store logged values. They must precede all rules that may answer a request.
    """
    # the daemon sends what has this level, and nothing else
    few = f"if {{ {LOG_COUNTER}_gpc0_rate lt {log.lines_per_second} }}"
    rule = "http-request" if over_http else "tcp-request content"
    yield f"{rule} track-{LOG_COUNTER} int(1) table {_table_name(name)}"
    yield f"{rule} set-log-level emerg {few}"
    yield f"{rule} sc-inc-gpc0({LOG_COUNTER.removeprefix('sc')}) {few}"
    if not over_http:
        return
    yield f"http-request set-var(txn.log_path) {'pathq' if log.query else 'path'},bytes(0,{LOGGED_PATH_BYTES_MAX})"
    for field, sample in _SAMPLES_BY_FIELD.items():
        yield f"http-request set-var(txn.log_{field}) {sample},bytes(0,{LOGGED_VALUE_BYTES_MAX})"


def access_log_format(listener: ServiceListener, load_balancer_id: str) -> str:
    """Return the ``log-format`` line of a listener's frontend: one JSON object for each request or
    connection. Raises :class:`Unrenderable` for ids that cannot be names.
    """
    over_tls, over_http = listener.protocol == TLS_PROTOCOL, listener.protocol in L7_PROTOCOLS
    protocol = ("https" if over_tls else "http") if over_http else "tcp"
    fields = (
        ("time", "%Ts.%ms"),
        ("load_balancer", f'"{object_name("load balancer", load_balancer_id)}"'),
        ("listener", f'"{object_name("listener", listener.id)}"'),
        ("client_address", '"%[src]"'),
        ("client_port", "%[src_port]"),
        ("protocol", f'"{protocol}"'),
        ("tls_version", '"%[ssl_fc_protocol]"' if over_tls else '"-"'),
        *(_REQUEST_FIELDS if over_http else ()),
        ("duration_ms", "%Ta" if over_http else "%Tt"),
        ("member", '"%si:%sp"'),
        ("request_bytes", "%U"),
        ("response_bytes", "%B"),
        ("termination", '"%ts"'),
    )
    return quote_line("log-format", "{" + ",".join(f'"{field}":{value}' for field, value in fields) + "}")


def _table_name(name: str) -> str:
    return auxiliary_name(name, "log")
