"""Access logs of tenants: a pool of the log server, and parts of a listener's iRule that send it a line for
each response of a member, or with TCP for each connection. Pure.

A request-log profile would need no code, but its templates put a client's values into a line unchanged, where
a quote ends the JSON value; so the iRule escapes values, and sends the line itself (``HSL::send``).
"""

from collections.abc import Iterable, Iterator

from evenkeel.config.esd.parts import LOGGED_PATH_BYTES_MAX, LOGGED_VALUE_BYTES_MAX, AccessLog
from evenkeel.core.devices.service import ServiceDefinition, ServiceListener
from evenkeel.core.resources.model import L7_PROTOCOLS, TLS_PROTOCOL
from evenkeel.devices.bigip.naming import BigIpNames, endpoint, plain_or_digest
from evenkeel.devices.bigip.objects import MEMBER, POOL, Key, WantedObject
from evenkeel.devices.bigip.render.network.addresses import address_in_member_domain
from evenkeel.devices.bigip.render.rule_parts import Order, RulePart

ACCESS_LOG_KIND = "accesslog"
_CODE_BY_FIELD = {
    "method": "[HTTP::method]",
    "host": "[HTTP::host]",
    "http_version": "[HTTP::version]",
    "user_agent": "[HTTP::header value User-Agent]",
    "referer": "[HTTP::header value Referer]",
}
"""Tcl code of values that the client sent, beside the path, by the name of the field in the log."""
_DURATION_CODE = "[expr { [clock clicks -milliseconds] - $service_log_start }]"
_MEMBER_CODE = "[getfield [LB::server addr] % 1]:[LB::server port]"
_TIME_CODE = "[clock format [clock seconds] -gmt 1 -format %Y-%m-%dT%H:%M:%SZ]"


def access_log_pool(
    service: ServiceDefinition, listener: ServiceListener, log: AccessLog, names: BigIpNames
) -> WantedObject:
    """Build the pool with the tenant's log server, in the route domain in which a member with the server's
    address would be.
    """
    name = names.auxiliary_object_name(ACCESS_LOG_KIND, listener.id)
    address = address_in_member_domain(service, log.address)
    description = names.marked_description(ACCESS_LOG_KIND, service.load_balancer_id, listener.id)
    server = WantedObject(
        key=Key(type=MEMBER, name=endpoint(address, log.port), pool=name),
        owner=service.load_balancer_id,
        attributes={
            "address": address,
            "ratio": 1,
            "priorityGroup": 0,
            "session": "user-enabled",
            "state": "user-up",
            "monitor": "default",
            "description": description,
        },
        immutables=frozenset({"address"}),
    )
    return WantedObject(
        key=Key(type=POOL, name=name),
        owner=service.load_balancer_id,
        attributes={
            "loadBalancingMode": "round-robin",
            "minActiveMembers": 0,
            "monitor": "",
            "description": description,
        },
        members=(server,),
    )


def access_log_parts(
    service: ServiceDefinition, listener: ServiceListener, log: AccessLog, names: BigIpNames
) -> Iterator[RulePart]:
    """Yield the parts of a listener's iRule that send the access log; the part for requests precedes all that may
    answer one.
    """
    partition = names.partition_name(service.project_id)
    opened = (
        # a name in HSL::open would give the virtual server the status of this pool (F5's article K14505)
        f"    set service_log_pool /{partition}/{names.auxiliary_object_name(ACCESS_LOG_KIND, listener.id)}",
        f"    set service_log [HSL::open -proto {log.protocol.upper()} -pool $service_log_pool]",
    )
    if listener.protocol in L7_PROTOCOLS:
        yield RulePart(event="CLIENT_ACCEPTED", order=Order.ADMISSION, lines=opened)
        yield RulePart(event="HTTP_REQUEST", order=Order.ADMISSION, lines=tuple(_request_value_lines(log)))
        lines = tuple(_send_entry_lines(service, listener, log, partition, _response_fields(listener)))
        yield RulePart(event="HTTP_RESPONSE", order=Order.ADMISSION, lines=lines)
        return
    begun = ("    set service_log_start [clock clicks -milliseconds]", '    set service_log_member "-:-"')
    yield RulePart(event="CLIENT_ACCEPTED", order=Order.ADMISSION, lines=(*opened, *begun))
    connected = (f'    set service_log_member "{_MEMBER_CODE}"',)
    yield RulePart(event="SERVER_CONNECTED", order=Order.ADMISSION, lines=connected)
    lines = tuple(_send_entry_lines(service, listener, log, partition, _connection_fields()))
    closed = ("    if { [info exists service_log_member] } {", *(f"    {line}" for line in lines), "    }")
    yield RulePart(event="CLIENT_CLOSED", order=Order.ADMISSION, lines=closed)


def _request_value_lines(log: AccessLog) -> Iterator[str]:
    path = "[HTTP::uri]" if log.query else "[HTTP::path]"
    values = " ".join(f"[string range {code} 0 {LOGGED_VALUE_BYTES_MAX - 1}]" for code in _CODE_BY_FIELD.values())
    yield "    set service_log_start [clock clicks -milliseconds]"
    yield "    set service_log_values [list]"
    yield f"    foreach value [list [string range {path} 0 {LOGGED_PATH_BYTES_MAX - 1}] {values}] {{"
    yield '        if { $value eq "" } { set value "-" }'
    yield '        regsub -all {[^ -~]} $value "?" value'
    yield r'        lappend service_log_values [string map [list "\\" "\\\\" "\"" "\\\""] $value]'
    yield "    }"


LogFields = Iterable[tuple[str, str]]
"""Names of fields of a log line, each with the Tcl code of its value as JSON."""


def _response_fields(listener: ServiceListener) -> LogFields:
    over_tls = listener.protocol == TLS_PROTOCOL
    yield "protocol", _json_string("https" if over_tls else "http")
    yield "tls_version", _json_string("[SSL::cipher version]" if over_tls else "-")
    for place, field in enumerate(("path", *_CODE_BY_FIELD)):
        yield field, _json_string(f"[lindex $service_log_values {place}]")
    yield "status", "[HTTP::status]"
    yield "duration_ms", _DURATION_CODE
    yield "member", _json_string(_MEMBER_CODE)


def _connection_fields() -> LogFields:
    yield "protocol", _json_string("tcp")
    yield "tls_version", _json_string("-")
    yield "duration_ms", _DURATION_CODE
    yield "member", _json_string("$service_log_member")
    yield "request_bytes", "[IP::stats bytes in]"
    yield "response_bytes", "[IP::stats bytes out]"


def _send_entry_lines(
    service: ServiceDefinition, listener: ServiceListener, log: AccessLog, partition: str, more: LogFields
) -> Iterator[str]:
    fields = (
        ("time", "[clock seconds]"),
        ("load_balancer", _json_string(plain_or_digest(service.load_balancer_id))),
        ("listener", _json_string(plain_or_digest(listener.id))),
        # without its route domain
        ("client_address", _json_string("[getfield [IP::client_addr] % 1]")),
        ("client_port", "[TCP::client_port]"),
        *more,
    )
    line = ",".join(f"{_json_string(field)}:{value}" for field, value in fields)
    yield f'    set service_log_key "log:{plain_or_digest(listener.id)}"'
    yield "    table add $service_log_key 0 indefinite 1"
    yield f"    if {{ [table incr -notouch $service_log_key] <= {log.lines_per_second} }} {{"
    yield f'        HSL::send $service_log "<141>1 {_TIME_CODE} - {partition} - - - \\{{{line}\\}}\\n"'
    yield "    }"


def _json_string(code: str) -> str:
    """Return Tcl code, for a Tcl word in double quotes, whose value is ``code``'s value as a JSON string."""
    return f'\\"{code}\\"'
