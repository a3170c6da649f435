"""Header values of enhanced services as HAProxy's log formats. Pure."""

from collections.abc import Iterator, Mapping

from evenkeel.config.esd.parts import HeaderChanges, Variable, template_words
from evenkeel.devices.haproxy.render.headers import REMOVE_LINE_BREAKS
from evenkeel.devices.haproxy.render.quoting import log_format_literal

_SAMPLES_BY_VARIABLE: Mapping[Variable, str] = {
    "client_address": "%[src]",
    "client_port": "%[src_port]",
    "protocol": "%[ssl_fc,iif(https,http)]",
    # a response no longer has the request's headers, and a UUID differs each time it is read
    "host": "%[var(txn.service_host)]",
    "request_id": "%[var(txn.service_request_id)]",
    "tls_version": "%[ssl_fc_protocol]",
    "sni": "%[ssl_fc_sni]",
    "client_certificate_cn": f"%[ssl_c_s_dn(cn),{REMOVE_LINE_BREAKS}]",
}
_LINES_THAT_STORE: Mapping[Variable, str] = {
    "host": "http-request set-var(txn.service_host) req.hdr(host)",
    "request_id": "http-request set-var(txn.service_request_id) uuid()",
}


def header_log_format(value: str) -> str:
    """Return a header value, in which names of variables may stand, as a HAProxy log format, not yet quoted
    as a word.
    """
    return "".join(
        log_format_literal(literal) + (_SAMPLES_BY_VARIABLE[name] if name else "")  # type: ignore[index]
        for literal, name in template_words(value)
    )


def stored_variable_lines(*changes: HeaderChanges | None) -> Iterator[str]:
    """Yield the lines that store the request's host and id in variables, as far as the header values in
    ``changes`` use them.
    """
    used = frozenset[str]().union(*(each.variables for each in changes if each is not None))
    yield from (line for name, line in _LINES_THAT_STORE.items() if name in used)
