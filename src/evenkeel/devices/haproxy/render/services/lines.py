"""Parts of enhanced services as lines of a frontend. Pure.

===========================  =======================================================================================
part                         HAProxy
===========================  =======================================================================================
allow, deny                  ``tcp-request connection reject``, with the networks in ACL files
connection_limit_per_source  a stick table by client address, and ``tcp-request connection reject``
rate_limit                   see :mod:`.rates`, which renders tenants' rate limit policies, too
maintenance                  ``http-request return``, with the page in a file
https_redirect               ``http-request redirect`` unless the client used TLS
request_headers              ``http-request del-header``, ``set-header``, ``add-header``, after the L7 policies
response_headers             ``http-response``, the same
security_headers             ``http-after-response set-header``, so that HAProxy's own responses have them too
error_pages                  ``http-error``, with each page in a file
compression                  ``compression``
timeouts                     ``timeout http-request`` and ``http-keep-alive``; ``tunnel`` is the backend's
haproxy_lines                as they are: those of connections first, others after limits and answers
access_log                   ``log-format`` and a log target of the frontend, see :mod:`.access_log`
===========================  =======================================================================================

Stick tables are in the partition's ``peers`` section: counts survive reloads, and a pair shares them.
"""

import hashlib
from collections.abc import Iterable, Iterator

from evenkeel.config.esd.parts import SECURITY_HEADERS, HeaderChanges, Parts, ResponsePage
from evenkeel.core.devices.service import ServiceListener
from evenkeel.core.kit.values import Value
from evenkeel.core.resources.model import L7_PROTOCOLS
from evenkeel.devices.haproxy.naming import auxiliary_name, object_name
from evenkeel.devices.haproxy.render.quoting import quote_line
from evenkeel.devices.haproxy.render.services.access_log import LOG_COUNTER as LOG_COUNTER
from evenkeel.devices.haproxy.render.services.access_log import (
    access_log_format,
    access_log_lines,
    access_log_table,
    access_log_target,
)
from evenkeel.devices.haproxy.render.services.rates import STICK_COUNTERS, rate_limit_lines, stick_table_line
from evenkeel.devices.haproxy.render.services.values import header_log_format, stored_variable_lines
from evenkeel.devices.rate_limits import ClientLimit, rate_limits
from evenkeel.haproxyd import wire

_CONNECTION_KEY = STICK_COUNTERS[0]


class ServiceLines(Value):
    """Additions of enhanced services to one listener's frontend; lines stand in the order in which HAProxy evaluates
    them.
    """

    connection: tuple[str, ...] = ()
    """``tcp-request`` lines, and the stick table of connections."""
    settings: tuple[str, ...] = ()
    first: tuple[str, ...] = ()
    """Rules that may answer a request, to be placed before the L7 policies."""
    last: tuple[str, ...] = ()
    """Changes of headers, to be placed after the L7 policies, which judge the request as it was received."""
    files: tuple[wire.File, ...] = ()
    tables: tuple[wire.Backend, ...] = ()
    access_log: wire.LogTarget | None = None


NO_SERVICES = ServiceLines()


def service_lines(listener: ServiceListener, parts: Parts, load_balancer_id: str = "") -> ServiceLines:
    """Return the lines, files and stick tables for a listener's enhanced services and rate limits;
    :data:`NO_SERVICES` if it has none. ``load_balancer_id``: needed for an access log.

    Raises :class:`Unrenderable` for an impossible id or rate limit action, and for more rate limit counters
    than are free.
    """
    limits = rate_limits(listener, parts)
    if not (parts.names or limits):
        return NO_SERVICES
    name = object_name("listener", listener.id)
    files: dict[str, wire.File] = {}
    slots = _free_stick_counters(parts)
    rates = rate_limit_lines(name, limits, slots, _refusal_pages(name, parts, limits, files))
    return ServiceLines(
        connection=(
            *_connection_lines(name, parts, files),
            *rates.connection,
            *_operator_lines(parts, of_connections=True),
        ),
        settings=(
            *_settings_lines(name, parts, files),
            *([access_log_format(listener, load_balancer_id)] if parts.access_log is not None else []),
        ),
        first=(
            *_log_lines(name, listener, parts),
            *rates.lines,
            *_answer_lines(name, parts, files),
            *_operator_lines(parts, of_connections=False),
        ),
        last=tuple(_header_lines(parts)),
        tables=(*([access_log_table(name)] if parts.access_log is not None else []), *rates.tables),
        access_log=access_log_target(parts.access_log),
        # Last, because rendering collects the files that it refers to.
        files=(*files.values(), *rates.files),
    )


def _operator_lines(parts: Parts, *, of_connections: bool) -> Iterator[str]:
    """Yield the operators' own lines: with ``of_connections`` those that start with ``tcp-request`` or
    ``acl``, else the others.

    HAProxy runs ``tcp-request`` rules before all others and warns if they stand later. ACLs stand with them
    because such a rule may need an ACL, which may be defined anywhere before its use.
    """
    for line in parts.haproxy_lines or ():
        if line.lstrip().startswith(("tcp-request ", "acl ")) is of_connections:
            yield line


def _log_lines(name: str, listener: ServiceListener, parts: Parts) -> Iterator[str]:
    if parts.access_log is not None:
        yield from access_log_lines(name, parts.access_log, over_http=listener.protocol in L7_PROTOCOLS)


def _free_stick_counters(parts: Parts) -> list[str]:
    """Return HAProxy's stick counters that are free for rate limits, in order."""
    taken = {
        *([_CONNECTION_KEY] if parts.connection_limit_per_source is not None else []),
        *([LOG_COUNTER] if parts.access_log is not None else []),
    }
    return [slot for slot in STICK_COUNTERS if slot not in taken]


def _connection_lines(name: str, parts: Parts, files: dict[str, wire.File]) -> Iterator[str]:
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
    if limit is not None:
        # A table of type ipv6 holds clients of both families, because HAProxy maps IPv4 addresses.
        yield stick_table_line("ipv6", 0, ["conn_cur"])
        yield f"tcp-request connection track-{_CONNECTION_KEY} src"
        yield f"tcp-request connection reject if {{ {_CONNECTION_KEY}_conn_cur gt {limit} }}"


def _settings_lines(name: str, parts: Parts, files: dict[str, wire.File]) -> Iterator[str]:
    times = parts.timeouts
    if times is not None:
        for keyword, seconds in (("http-request", times.request), ("http-keep-alive", times.keep_alive)):
            if seconds is not None:
                yield f"timeout {keyword} {seconds}s"
    if parts.compression is not None:
        yield "compression algo gzip"
        yield quote_line("compression", "type", *(each.partition(";")[0] for each in parts.compression.types))
    for status, page in sorted((parts.error_pages or {}).items()):
        yield quote_line("http-error", "status", status, *_page_arguments(name, f"error{status}", page, files))


def _page_arguments(name: str, what: str, page: ResponsePage | None, files: dict[str, wire.File]) -> tuple[str, ...]:
    """Return the arguments that send a page as the body, and add its file to ``files``; empty without a page.

    The file's name has a digest of the content, so that a change of the page changes the line, and HAProxy reloads.
    """
    if page is None:
        return ()
    digest = hashlib.sha256(page.body.encode()).hexdigest()[:16]
    file = wire.File(name=auxiliary_name(name, f"{what}.{digest}"), kind="page", content=page.body)
    files[file.name] = file
    return ("content-type", page.content_type, "file", file.name)


def _refusal_pages(
    name: str, parts: Parts, limits: Iterable[ClientLimit], files: dict[str, wire.File]
) -> dict[int, tuple[str, ...]]:
    """Return ``{status: arguments that send the error page}`` for all statuses of refusals by rate limits,
    empty arguments where there is no page, and add the pages to ``files``.

    HAProxy uses no error page for a response with a header of its own, so the page must be named in the rule.
    """
    pages = {int(status): page for status, page in (parts.error_pages or {}).items()}
    statuses = {limit.status for limit in limits if limit.action == "DENY"}
    return {status: _page_arguments(name, f"error{status}", pages.get(status), files) for status in sorted(statuses)}


def _answer_lines(name: str, parts: Parts, files: dict[str, wire.File]) -> Iterator[str]:
    if parts.maintenance is not None:
        page = _page_arguments(name, "maintenance", parts.maintenance, files)
        after = str(parts.maintenance.retry_after)
        yield quote_line("http-request", "return", "status", "503", *page, "hdr", "Retry-After", after)
    if parts.https_redirect is not None:
        port = "" if parts.https_redirect.port == 443 else f":{parts.https_redirect.port}"
        code = parts.https_redirect.code
        # Without a host there is no URL to redirect to, and the request must not go on without TLS.
        yield "http-request deny deny_status 400 if !{ ssl_fc } !{ req.hdr(host) -m found }"
        target = f"https://%[req.hdr(host),host_only]{port}%[pathq]"
        yield f"http-request redirect location {target} code {code} unless {{ ssl_fc }}"


def _header_lines(parts: Parts) -> Iterator[str]:
    yield from stored_variable_lines(parts.request_headers, parts.response_headers)
    for directive, changes in (("http-request", parts.request_headers), ("http-response", parts.response_headers)):
        if changes is not None:
            yield from _header_change_lines(directive, changes)
    if parts.security_headers is not None:
        for name, value in SECURITY_HEADERS[parts.security_headers].items():
            yield quote_line("http-after-response", "set-header", name, value)


def _header_change_lines(directive: str, changes: HeaderChanges) -> Iterator[str]:
    for name in changes.remove:
        yield quote_line(directive, "del-header", name)
    for action, values in (("set-header", changes.set), ("add-header", changes.add)):
        for name, value in sorted(values.items()):
            yield quote_line(directive, action, name, header_log_format(value))
