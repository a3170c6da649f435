"""Parts of enhanced services as lines of a frontend. Pure.

===========================  =======================================================================================
part                         HAProxy
===========================  =======================================================================================
allow, deny                  ``tcp-request connection reject``, with the networks in ACL files
connection_limit_per_source  a stick table by client address, and ``tcp-request connection reject``
rate_limit                   the same table, or one by header or cookie in a backend of its own; ``deny`` with
                             ``Retry-After``
maintenance                  ``http-request return``, with the page in a file
https_redirect               ``http-request redirect`` unless the client used TLS
request_headers              ``http-request del-header``, ``set-header``, ``add-header``, after the L7 policies
response_headers             ``http-response``, the same
security_headers             ``http-after-response set-header``, so that HAProxy's own responses have them too
error_pages                  ``http-error``, with each page in a file
compression                  ``compression``
timeouts                     ``timeout http-request`` and ``http-keep-alive``; ``tunnel`` is the backend's
access_log                   ``log-format`` and a log target of the frontend, see :mod:`.access_log`
===========================  =======================================================================================

Stick tables are in the partition's ``peers`` section: counts survive reloads, and a pair shares them.
"""

import hashlib
from collections.abc import Iterator

from evenkeel.config.esd.parts import SECURITY_HEADERS, HeaderChanges, Parts, RequestRate, ResponsePage
from evenkeel.core.devices.service import ServiceListener
from evenkeel.core.kit.values import Value
from evenkeel.devices.haproxy.naming import auxiliary_name, object_name
from evenkeel.devices.haproxy.render.quoting import quote_line
from evenkeel.devices.haproxy.render.services.access_log import log_format, log_lines, log_table, log_target
from evenkeel.devices.haproxy.render.services.values import header_format, variable_lines
from evenkeel.haproxyd import wire

TABLE_ENTRIES = "100k"
"""Clients that one stick table counts at once; beyond it the oldest are forgotten."""
KEY_CHARACTERS_MAX = 128
"""Characters of a header or cookie that a rate limit distinguishes; longer values are counted by their hash."""
_CONNECTION_KEY = "sc0"
_REQUEST_KEY = "sc1"


class ServiceLines(Value):
    """Additions of enhanced services to one listener's frontend; lines in the order in which HAProxy evaluates them."""

    connection: tuple[str, ...] = ()
    """``tcp-request`` lines and the stick table."""
    settings: tuple[str, ...] = ()
    first: tuple[str, ...] = ()
    """Rules that may answer a request, before the L7 policies."""
    last: tuple[str, ...] = ()
    """Changes of headers, after the L7 policies have judged the request as it was received."""
    files: tuple[wire.File, ...] = ()
    tables: tuple[wire.Backend, ...] = ()
    access_log: wire.LogTarget | None = None


NO_SERVICES = ServiceLines()


def service_lines(listener: ServiceListener, parts: Parts, load_balancer_id: str = "") -> ServiceLines:
    """The lines and files of a listener's parts. ``load_balancer_id``: for its access log."""
    if not parts.names:
        return NO_SERVICES
    name = object_name("listener", listener.id)
    files: dict[str, wire.File] = {}
    return ServiceLines(
        connection=tuple(_connection(name, parts, files)),
        settings=(
            *_settings(name, parts, files),
            *([log_format(listener, load_balancer_id)] if parts.access_log is not None else []),
        ),
        first=(
            # it has the counter sc2, which no rate limit of the listener may take then
            *(log_lines(name, parts.access_log) if parts.access_log is not None else ()),
            *_answers(name, parts, files),
        ),
        last=tuple(_header_lines(parts)),
        tables=tuple(_tables(name, parts)),
        access_log=log_target(parts.access_log),
        # Last, because rendering collects the files that it refers to.
        files=tuple(files.values()),
    )


def _connection(name: str, parts: Parts, files: dict[str, wire.File]) -> Iterator[str]:
    for what, networks, condition in (("deny", parts.deny, "if"), ("allow", parts.allow, "unless")):
        if networks is not None:
            file = wire.File(
                name=auxiliary_name(name, what),
                kind="acl",
                # Sorted, so that the same networks in another order are no change.
                content="".join(f"{network}\n" for network in sorted(set(networks))),
            )
            files[file.name] = file
            yield f"tcp-request connection reject {condition} {{ src -f {file.name} }}"
    limit = parts.connection_limit_per_source
    # of requests with the same address; others have a table of their own
    rate = parts.rate_limit if parts.rate_limit is not None and not _key_of(parts.rate_limit) else None
    stored = [
        *(["conn_cur"] if limit is not None else []),
        *([f"http_req_rate({rate.interval}s)"] if rate is not None else []),
    ]
    if stored:
        # A table of type ipv6 holds clients of both families, because HAProxy maps IPv4 addresses.
        yield _stick_table("ipv6", rate.interval if rate is not None else 0, stored)
        yield f"tcp-request connection track-{_CONNECTION_KEY} src"
    if limit is not None:
        yield f"tcp-request connection reject if {{ {_CONNECTION_KEY}_conn_cur gt {limit} }}"


def _stick_table(kind: str, interval_seconds: int, stored: list[str]) -> str:
    # An entry outlives the interval in which it counts; one of an open connection never expires.
    expire = max(2 * interval_seconds, 10)
    return (
        f"stick-table type {kind} size {TABLE_ENTRIES} expire {expire}s store {','.join(stored)}"
        f" peers {wire.PEERS_SECTION}"
    )


def _tables(name: str, parts: Parts) -> Iterator[wire.Backend]:
    rate = parts.rate_limit
    if parts.access_log is not None:
        yield log_table(name)
    if rate is not None and _key_of(rate):
        table = _stick_table(f"string len {KEY_CHARACTERS_MAX}", rate.interval, [f"http_req_rate({rate.interval}s)"])
        yield wire.Backend(name=auxiliary_name(name, "rates"), lines=("mode http", table))


def _settings(name: str, parts: Parts, files: dict[str, wire.File]) -> Iterator[str]:
    times = parts.timeouts
    if times is not None:
        for keyword, seconds in (("http-request", times.request), ("http-keep-alive", times.keep_alive)):
            if seconds is not None:
                yield f"timeout {keyword} {seconds}s"
    if parts.compression is not None:
        yield "compression algo gzip"
        yield quote_line("compression", "type", *(each.partition(";")[0] for each in parts.compression.types))
    for status, page in sorted((parts.error_pages or {}).items()):
        yield quote_line("http-error", "status", status, *_page_words(name, f"error{status}", page, files))


def _page_words(name: str, what: str, page: ResponsePage | None, files: dict[str, wire.File]) -> tuple[str, ...]:
    """Arguments that send a page; its file's name has a digest of the content, so that a change of it is one of a line,
    which HAProxy reloads for.
    """
    if page is None:
        return ()
    digest = hashlib.sha256(page.body.encode()).hexdigest()[:16]
    file = wire.File(name=auxiliary_name(name, f"{what}.{digest}"), kind="page", content=page.body)
    files[file.name] = file
    return ("content-type", page.content_type, "file", file.name)


def _answers(name: str, parts: Parts, files: dict[str, wire.File]) -> Iterator[str]:
    if parts.rate_limit is not None:
        # HAProxy takes no error page for a response with a header of its own, so the page is named with it.
        page = (parts.error_pages or {}).get(str(parts.rate_limit.status))  # type: ignore[call-overload]
        yield from _rate_limit(
            name, parts.rate_limit, _page_words(name, f"error{parts.rate_limit.status}", page, files)
        )
    if parts.maintenance is not None:
        page = _page_words(name, "maintenance", parts.maintenance, files)
        after = str(parts.maintenance.retry_after)
        yield quote_line("http-request", "return", "status", "503", *page, "hdr", "Retry-After", after)
    if parts.https_redirect is not None:
        port = "" if parts.https_redirect.port == 443 else f":{parts.https_redirect.port}"
        code = parts.https_redirect.code
        # Without a host there is no URL to redirect to, and the request must not go on without TLS.
        yield "http-request deny deny_status 400 if !{ ssl_fc } !{ req.hdr(host) -m found }"
        target = f"https://%[req.hdr(host),host_only]{port}%[pathq]"
        yield f"http-request redirect location {target} code {code} unless {{ ssl_fc }}"


def _rate_limit(name: str, rate: RequestRate, page: tuple[str, ...]) -> Iterator[str]:
    key, counter = _key_of(rate), _CONNECTION_KEY
    if key:
        counter = _REQUEST_KEY
        # A value that is longer than a key of the table would be cut, and counted with others that begin alike.
        long = f"{{ {key} -m len gt {KEY_CHARACTERS_MAX} }}"
        table = auxiliary_name(name, "rates")
        yield f"http-request track-{counter} {key},sha2(256),hex table {table} if {long}"
        yield f"http-request track-{counter} {key} table {table} if {{ {key} -m found }} !{long}"
    refusal = quote_line(
        "http-request", "deny", "deny_status", str(rate.status), *page, "hdr", "Retry-After", str(rate.interval)
    )
    yield f"{refusal} if {{ {counter}_http_req_rate gt {rate.requests} }}"


def _key_of(rate: RequestRate) -> str:
    """The sample that a rate limit counts by, quoted for conditions; empty: the client's address."""
    if rate.header is not None:
        return f"req.hdr({rate.header})"
    return f"req.cook({rate.cookie})" if rate.cookie is not None else ""


def _header_lines(parts: Parts) -> Iterator[str]:
    yield from variable_lines(parts.request_headers, parts.response_headers)
    for directive, changes in (("http-request", parts.request_headers), ("http-response", parts.response_headers)):
        if changes is not None:
            yield from _changes(directive, changes)
    if parts.security_headers is not None:
        for name, value in SECURITY_HEADERS[parts.security_headers].items():
            yield quote_line("http-after-response", "set-header", name, value)


def _changes(directive: str, changes: HeaderChanges) -> Iterator[str]:
    for name in changes.remove:
        yield quote_line(directive, "del-header", name)
    for action, values in (("set-header", changes.set), ("add-header", changes.add)):
        for name, value in sorted(values.items()):
            yield quote_line(directive, action, name, header_format(value))
