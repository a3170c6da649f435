"""Computes Prometheus metrics of one load balancer from the statistics of its HAProxy's worker. Pure.

HAProxy's own exporter covers the whole process, which serves every load balancer of the tenant. Names and labels are
Octavia's (``octavia_listener_…``, ``octavia_pool_…``, ``octavia_member_…``); of ``octavia_loadbalancer_…``,
process-wide metrics are left out and the others are sums. Columns: HAProxy management guide, 9.1 and "show stat".
"""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal

from evenkeel.core.kit.values import Value
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.haproxy.config.loaded import remove_unused_backends

SHOW_STATISTICS = "show stat"
"""Command for the statistics of all proxies and servers."""
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

StatisticsRow = Mapping[str, str]


class MetricDefinition(Value):
    """Definition of a Prometheus metric: name, type, help, and the column of HAProxy's ``show stat`` with its
    value. ``scale``: factor for the column's value.
    """

    name: str
    column: str
    kind: Literal["gauge", "counter"]
    help: str
    scale: float = 1.0


def _gauge_definitions(*texts: tuple[str, str, str], scale: float = 1.0) -> tuple[MetricDefinition, ...]:
    return tuple(
        MetricDefinition(name=name, column=column, kind="gauge", help=help_, scale=scale)
        for name, column, help_ in texts
    )


def _counter_definitions(*texts: tuple[str, str, str]) -> tuple[MetricDefinition, ...]:
    return tuple(
        MetricDefinition(name=name, column=column, kind="counter", help=help_) for name, column, help_ in texts
    )


_COMMON_METRICS = (
    *_gauge_definitions(
        ("current_sessions", "scur", "Current number of sessions."),
        ("max_sessions", "smax", "Highest number of sessions at once."),
        ("limit_sessions", "slim", "Most sessions that there may be; 0: no limit."),
        ("max_session_rate", "rate_max", "Highest number of new sessions in a second."),
    ),
    *_counter_definitions(
        ("sessions_total", "stot", "Sessions."),
        ("bytes_in_total", "bin", "Bytes of requests."),
        ("bytes_out_total", "bout", "Bytes of answers."),
        ("responses_denied_total", "dresp", "Answers that rules denied."),
        ("failed_header_rewriting_total", "wrew", "Headers that could not be rewritten."),
    ),
)
_REQUEST_METRICS = _counter_definitions(
    ("requests_denied_total", "dreq", "Requests that rules denied."),
    ("http_requests_total", "req_tot", "HTTP requests."),
)
_SERVER_SIDE_METRICS = (
    *_gauge_definitions(
        ("last_session_seconds", "lastsess", "Seconds since the last session."),
        ("current_queue", "qcur", "Requests that wait."),
        ("max_queue", "qmax", "Highest number of requests that waited."),
        ("check_last_change_seconds", "lastchg", "Seconds since it last went up or down."),
    ),
    *_gauge_definitions(
        ("queue_time_average_seconds", "qtime", "Time in the queue, of the last 1,024 requests."),
        ("connect_time_average_seconds", "ctime", "Time to connect, of the last 1,024 requests."),
        ("response_time_average_seconds", "rtime", "Time to answer, of the last 1,024 requests."),
        ("total_time_average_seconds", "ttime", "Time of sessions, of the last 1,024 requests."),
        ("max_queue_time_seconds", "qtime_max", "Longest time in the queue."),
        ("max_connect_time_seconds", "ctime_max", "Longest time to connect."),
        ("max_response_time_seconds", "rtime_max", "Longest time to answer."),
        ("max_total_time_seconds", "ttime_max", "Longest time of a session."),
        scale=0.001,
    ),
    *_counter_definitions(
        ("connection_attempts_total", "connect", "Attempts to connect."),
        ("connection_reuses_total", "reuse", "Connections that were used again."),
        ("connection_errors_total", "econ", "Connections that failed."),
        ("response_errors_total", "eresp", "Answers that were none."),
        ("retry_warnings_total", "wretr", "Connections that were tried again."),
        ("redispatch_warnings_total", "wredis", "Requests that were given to another member."),
        ("client_aborts_total", "cli_abrt", "Transfers that clients ended."),
        ("check_up_down_total", "chkdown", "Times that it went down."),
        ("downtime_seconds_total", "downtime", "Seconds that it was down."),
        ("loadbalanced_total", "lbtot", "Times that it was chosen."),
    ),
)
LISTENER_METRICS = (
    *_COMMON_METRICS,
    *_REQUEST_METRICS,
    *_gauge_definitions(
        ("limit_session_rate", "rate_lim", "Most new sessions that there may be in a second; 0: no limit."),
        ("connections_rate_max", "conn_rate_max", "Highest number of new connections in a second."),
        ("http_requests_rate_max", "req_rate_max", "Highest number of HTTP requests in a second."),
    ),
    *_counter_definitions(
        ("connections_total", "conn_tot", "Connections."),
        ("request_errors_total", "ereq", "Requests that were none."),
        ("denied_connections_total", "dcon", "Connections that rules denied."),
        ("denied_sessions_total", "dses", "Sessions that rules denied."),
        ("intercepted_requests_total", "intercepted", "Requests that were answered here."),
    ),
)
POOL_METRICS = (
    *_COMMON_METRICS,
    *_REQUEST_METRICS,
    *_SERVER_SIDE_METRICS,
    *_gauge_definitions(
        ("active_members", "act", "Members that serve."),
        ("backup_members", "bck", "Backup members that could serve."),
    ),
    *_counter_definitions(("member_aborts_total", "srv_abrt", "Transfers that members ended.")),
)
MEMBER_METRICS = (
    *_COMMON_METRICS,
    *_SERVER_SIDE_METRICS,
    *_gauge_definitions(
        ("queue_limit", "qlimit", "Most requests that may wait; 0: no limit."),
        ("weight", "weight", "Its weight."),
    ),
    *_counter_definitions(
        ("server_aborts_total", "srv_abrt", "Transfers that the member ended."),
        ("check_failures_total", "chkfail", "Checks that failed."),
    ),
)
_PROCESS_METRICS = (
    MetricDefinition(name="current_connections", column="scur", kind="gauge", help="Current number of connections."),
    MetricDefinition(name="connections_total", column="conn_tot", kind="counter", help="Connections."),
    MetricDefinition(name="requests_total", column="req_tot", kind="counter", help="HTTP requests."),
)
STATES_BY_KIND = {
    "listener": ("UP", "DOWN"),
    "pool": ("UP", "DOWN"),
    "member": ("UP", "DOWN", "MAINT", "DRAIN", "NOLB"),
}
RESPONSE_CLASSES = ("1xx", "2xx", "3xx", "4xx", "5xx", "other")


def render_metrics(load_balancer: wire.LoadBalancerConfig, statistics: str) -> str:
    """Return the load balancer's metrics in Prometheus' text format, from the worker's answer to
    :data:`SHOW_STATISTICS`.

    Other load balancers in the answer, and proxies that it lacks, are left out. Raises :class:`ValueError` or
    :class:`KeyError` for an answer in an unexpected form.
    """
    load_balancer = remove_unused_backends(load_balancer)
    rows = {(row["pxname"], row["svname"]): row for row in csv.DictReader(statistics.lstrip("# \n").splitlines())}
    listeners = _rows_with_keys(rows, ((one.name, "FRONTEND") for one in load_balancer.frontends))
    pools = _rows_with_keys(rows, ((one.name, "BACKEND") for one in load_balancer.backends))
    members = _rows_with_keys(
        rows, ((one.name, server.name) for one in load_balancer.backends for server in one.servers)
    )
    return "".join(
        (
            *_total_lines(listeners),
            *_section_lines("listener", LISTENER_METRICS, listeners, _listener_labels),
            *_section_lines("pool", POOL_METRICS, pools, _pool_labels),
            *_section_lines("member", MEMBER_METRICS, members, _member_labels),
        )
    )


def _rows_with_keys(
    rows: Mapping[tuple[str, str], StatisticsRow], keys: Iterable[tuple[str, str]]
) -> list[StatisticsRow]:
    return [rows[key] for key in keys if key in rows]


def _listener_labels(row: StatisticsRow) -> str:
    return f'listener="{row["pxname"]}"'


def _pool_labels(row: StatisticsRow) -> str:
    return f'pool="{row["pxname"]}"'


def _member_labels(row: StatisticsRow) -> str:
    return f'pool="{row["pxname"]}",member="{row["svname"]}"'


def _total_lines(listeners: list[StatisticsRow]) -> Iterator[str]:
    yield _metric_head("octavia_loadbalancer_listeners", "gauge", "Listeners.")
    yield f"octavia_loadbalancer_listeners {len(listeners)}\n"
    for metric in _PROCESS_METRICS:
        name = f"octavia_loadbalancer_{metric.name}"
        yield _metric_head(name, metric.kind, metric.help)
        yield f"{name} {sum(int(row.get(metric.column) or 0) for row in listeners)}\n"


def _section_lines(
    kind: str, table: tuple[MetricDefinition, ...], rows: list[StatisticsRow], labels: Callable[[StatisticsRow], str]
) -> Iterator[str]:
    yield from _state_lines(kind, rows, labels)
    for metric in table:
        found = [(labels(row), float(row[metric.column])) for row in rows if _is_number(row.get(metric.column))]
        name = f"octavia_{kind}_{metric.name}"
        if found:
            yield _metric_head(name, metric.kind, metric.help)
        yield from (f"{name}{{{label}}} {value * metric.scale:.10g}\n" for label, value in found)
    yield from _response_lines(kind, rows, labels)


def _state_lines(kind: str, rows: list[StatisticsRow], labels: Callable[[StatisticsRow], str]) -> Iterator[str]:
    name = f"octavia_{kind}_status"
    if rows:
        yield _metric_head(name, "gauge", f"Current status of the {kind}: 1 for the one that it has.")
    for row in rows:
        now = _plain_state(row["status"])
        yield from (f'{name}{{{labels(row)},state="{one}"}} {int(one == now)}\n' for one in STATES_BY_KIND[kind])


def _plain_state(status: str) -> str:
    """Return the state in HAProxy's statistics without details: ``UP 1/3`` (going down) and ``no check`` count as
    up.
    """
    word = status.split(" ", 1)[0]
    return {"OPEN": "UP", "FULL": "UP", "no": "UP", "STOP": "DOWN"}.get(word, word)


def _response_lines(kind: str, rows: list[StatisticsRow], labels: Callable[[StatisticsRow], str]) -> Iterator[str]:
    name = f"octavia_{kind}_http_responses_total"
    counted = [row for row in rows if _is_number(row.get("hrsp_2xx"))]
    if counted:
        yield _metric_head(name, "counter", "HTTP answers.")
    for row in counted:
        yield from (f'{name}{{{labels(row)},code="{code}"}} {row[f"hrsp_{code}"] or 0}\n' for code in RESPONSE_CLASSES)


def _metric_head(name: str, kind: str, help_: str) -> str:
    return f"# HELP {name} {help_}\n# TYPE {name} {kind}\n"


def _is_number(text: str | None) -> bool:
    return bool(text) and text is not None and text.removeprefix("-").isdigit()
