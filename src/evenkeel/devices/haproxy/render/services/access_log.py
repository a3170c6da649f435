"""Access logs of tenants as lines of a frontend, its log target and a table. Pure.

A line of the log is one JSON object. What a client gave is shortened, so that no line is cut in the middle, and written
by HAProxy's converter to JSON.
"""

from collections.abc import Iterator

from evenkeel.config.esd.parts import LOGGED_PATH_BYTES_MAX, LOGGED_VALUE_BYTES_MAX, AccessLog
from evenkeel.core.devices.service import ServiceListener
from evenkeel.core.resources.model import TLS_PROTOCOL
from evenkeel.devices.haproxy.naming import auxiliary_name, object_name
from evenkeel.devices.haproxy.render.quoting import quote_line
from evenkeel.haproxyd import wire

COUNTER = "sc2"
"""HAProxy's counter of logged requests; rate limits have the others."""
_VALUES = {
    "method": "method",
    "host": "req.hdr(host)",
    "http_version": "req.ver",
    # a comma is part of these values and separates no others
    "user_agent": "req.fhdr(user-agent)",
    "referer": "req.fhdr(referer)",
}
"""Samples of a request by the name of their field; stored, because a request is gone when its line is written."""


def log_target(log: AccessLog | None) -> wire.LogTarget | None:
    """Where a frontend's lines go."""
    return None if log is None else wire.LogTarget(address=log.address, port=log.port, protocol=log.protocol)


def log_table(name: str) -> wire.Backend:
    """The table that counts the logged requests of the frontend ``name``."""
    # one entry; it is tracked while a request runs, and what it counts is over after a second
    table = "stick-table type integer size 1 expire 10s store gpc0,gpc0_rate(1s)"
    return wire.Backend(name=_table_name(name), lines=("mode http", table))


def log_lines(name: str, log: AccessLog) -> Iterator[str]:
    """Lines that come before all rules that may answer a request."""
    # the daemon sends what has this level, and nothing else
    few = f"if {{ {COUNTER}_gpc0_rate lt {log.lines_per_second} }}"
    yield f"http-request track-{COUNTER} int(1) table {_table_name(name)}"
    yield f"http-request set-log-level emerg {few}"
    yield f"http-request sc-inc-gpc0({COUNTER.removeprefix('sc')}) {few}"
    yield f"http-request set-var(txn.log_path) {'pathq' if log.query else 'path'},bytes(0,{LOGGED_PATH_BYTES_MAX})"
    for field, sample in _VALUES.items():
        yield f"http-request set-var(txn.log_{field}) {sample},bytes(0,{LOGGED_VALUE_BYTES_MAX})"


def log_format(listener: ServiceListener, load_balancer_id: str) -> str:
    """The line that describes a log line."""
    over_tls = listener.protocol == TLS_PROTOCOL
    fields = (
        ("time", "%Ts.%ms"),
        ("load_balancer", f'"{object_name("load balancer", load_balancer_id)}"'),
        ("listener", f'"{object_name("listener", listener.id)}"'),
        ("client_address", '"%[src]"'),
        ("client_port", "%[src_port]"),
        ("protocol", '"https"' if over_tls else '"http"'),
        ("tls_version", '"%[ssl_fc_protocol]"' if over_tls else '"-"'),
        *((field, f'"%[var(txn.log_{field}),json(utf8s)]"') for field in ("path", *_VALUES)),
        ("status", "%ST"),
        ("duration_ms", "%Ta"),
        ("member", '"%si:%sp"'),
        ("request_bytes", "%U"),
        ("response_bytes", "%B"),
        ("termination", '"%ts"'),
    )
    return quote_line("log-format", "{" + ",".join(f'"{field}":{value}' for field, value in fields) + "}")


def _table_name(name: str) -> str:
    return auxiliary_name(name, "log")
