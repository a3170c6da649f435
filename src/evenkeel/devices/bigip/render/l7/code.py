r"""L7 policies as a part of the listener's iRule. Pure.

The code is made of the blocks below, chosen by what the policies need; the number of policies and the data group's
name are filled in. Everything else stands in the data group (:mod:`.records`). All commands exist in Tcl 8.4 and
in iRules of TMOS 13.

A header's values are separated by commas, a cookie's by commas and semicolons, outside of double quotes, as in HAProxy.
There is no ``<`` in the code, because devices may refuse requests with what could be an HTML tag: comparisons do
without, and answers have it in octal (in Tcl 8.4 a hexadecimal number has all digits that follow).
Commands that could take text as an option, a list or an expression do not get text of a client or tenant that way.

Without a OneConnect profile a connection stays with its member unless it is detached, so where there is none
(:mod:`.sharing`), it is detached when the pool changes.
"""

from collections.abc import Collection, Iterator

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.resources.model import TLS_PROTOCOL
from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.render.data_groups import data_group_path
from evenkeel.devices.bigip.render.l7.effective import Routing
from evenkeel.devices.bigip.render.l7.persistence import same_persistence, sets_app_cookies
from evenkeel.devices.bigip.render.l7.records import KIND
from evenkeel.devices.bigip.render.l7.sharing import shares_connections
from evenkeel.devices.bigip.render.l7.values import parse_comparison
from evenkeel.devices.bigip.render.persistence import TABLE_SECONDS
from evenkeel.devices.bigip.render.rule_parts import Order, RulePart
from evenkeel.devices.bigip.render.services.responses import RuleResponses


def l7_rule_parts(
    service: ServiceDefinition, routing: Routing, names: BigIpNames, responses: RuleResponses
) -> Iterator[RulePart]:
    """Yield the parts of the iRule that implement the L7 policies; :func:`.records.l7_data_group` builds the
    data group that they read. Raises :class:`Unrenderable` for a rule that a BIG-IP cannot implement.
    """
    group = data_group_path(service, KIND, routing.listener.id, names)
    text = "".join((*_compare_code(routing), *_action_code(routing, responses)))
    text = text.replace("@GROUP@", group).replace("@COUNT@", str(len(routing.policies)))
    yield RulePart(event="HTTP_REQUEST", order=Order.ROUTING, lines=_indented_lines(text))
    if sets_app_cookies(routing.pools):
        yield RulePart(event="HTTP_RESPONSE", order=Order.PERSISTENCE, lines=_indented_lines(_LEARN_APP_COOKIE))


def _indented_lines(text: str) -> tuple[str, ...]:
    return tuple(f"    {line}" for line in text.splitlines() if line)


def _compare_code(routing: Routing) -> Iterator[str]:
    """Yield code that compares the request with each policy in turn; ``$l7_policy`` is then the first match,
    or 0. Raises :class:`Unrenderable` for a rule that a BIG-IP cannot compare.
    """
    wanted = [parse_comparison(rule) for each in routing.policies for rule in each.rules]
    operands = {each.operand for each in wanted}
    # Rules about certificates never match without TLS, so their code is left out.
    if routing.listener.protocol != TLS_PROTOCOL:
        operands -= _TLS_OPERANDS
    yield _REQUEST_TARGET_CODE
    yield _EACH_RULE
    yield from _selected_blocks(_OPERANDS, operands)
    yield _OTHER_OPERANDS
    if operands & _HEADER_OPERANDS:
        yield _HEADER_VALUES
        yield from _selected_blocks(_HEADER_TEXTS, operands)
        yield _HEADER_VALUES_END
    yield _EACH_TEXT
    yield from _selected_blocks(_COMPARISONS, {each.operator for each in wanted})
    yield _EACH_RULE_END


def _action_code(routing: Routing, responses: RuleResponses) -> Iterator[str]:
    yield _ACTION
    yield "" if shares_connections(routing) else _DETACH_CODE
    yield _SERVER_TLS_CODE if routing.uses_tls else ""
    if not same_persistence(routing.pools):
        yield _COOKIE
        yield _NO_APP_COOKIE if sets_app_cookies(routing.pools) else ""
        yield _PERSISTENCE
        yield _APP_COOKIE if sets_app_cookies(routing.pools) else ""
        yield _PERSISTENCE_END
    yield _ANSWERS.format(
        rejected=responses.respond_command(403, html=r'"\074h1\076403 Forbidden\074/h1\076"'),
        url=responses.respond_command("$l7_code", '"Location"', "[URI::decode $l7_target]"),
        prefix=responses.respond_command("$l7_code", '"Location"', '"[URI::decode $l7_target]$l7_uri"'),
        unavailable=responses.respond_command(503, html=r'"\074h1\076503 Service Unavailable\074/h1\076"'),
    )


def _selected_blocks(blocks: dict[str, str], wanted: Collection[str]) -> Iterator[str]:
    return (text for name, text in blocks.items() if name in wanted)


_TLS_OPERANDS = frozenset({"certificate", "verification", "subject"})
_HEADER_OPERANDS = frozenset({"host", "header", "cookie"})

# path and query of the target; in absolute form it begins with scheme and host
_REQUEST_TARGET_CODE = r"""
set l7_uri [HTTP::uri]
if { [string index $l7_uri 0] ne "/" && $l7_uri ne "*" } {
    regsub {^[A-Za-z][A-Za-z0-9+.-]*://[^/?]*} $l7_uri "" l7_uri
    if { [string index $l7_uri 0] ne "/" } {
        set l7_uri "/$l7_uri"
    }
}
"""
_EACH_RULE = r"""
for { set l7_policy 1 } { @COUNT@ >= $l7_policy } { incr l7_policy } {
    set l7_all 1
    foreach { l7_rule l7_operand l7_how l7_invert } [class lookup "$l7_policy.rules" @GROUP@] {
        set l7_value [URI::decode [class lookup "$l7_policy.$l7_rule.value" @GROUP@]]
        set l7_key [URI::decode [class lookup "$l7_policy.$l7_rule.key" @GROUP@]]
        set l7_name ""
        set l7_signs ","
        set l7_texts [list]
        switch -- $l7_operand {
"""
_OPERANDS = {
    "host": r"""
            host {
                set l7_name "Host"
            }
""",
    "path": r"""
            path {
                if { $l7_uri ne "*" } {
                    lappend l7_texts [getfield $l7_uri "?" 1]
                }
            }
""",
    "header": r"""
            header {
                set l7_name $l7_key
            }
""",
    "cookie": r"""
            cookie {
                set l7_name "Cookie"
                set l7_signs ",;"
            }
""",
    "certificate": r"""
            certificate {
                lappend l7_texts [expr { [SSL::cert count] > 0 }]
            }
""",
    "verification": r"""
            verification {
                lappend l7_texts [expr { [SSL::cert count] > 0 ? [SSL::verify_result] : 0 }]
            }
""",
    # the text begins with the end of the name, so the last such field is the first of the certificate
    "subject": r"""
            subject {
                if { [SSL::cert count] > 0 } {
                    foreach l7_piece [regexp -all -inline {(?:[^,\\]|\\.)+} [X509::subject [SSL::cert 0]]] {
                        set l7_at [string first "=" $l7_piece]
                        set l7_field [string trim [string range $l7_piece 0 [expr { $l7_at - 1 }]]]
                        if { [string toupper $l7_field] eq $l7_key } {
                            set l7_text [string trim [string range $l7_piece [expr { $l7_at + 1 }] end]]
                            regsub -all {\\(.)} $l7_text {\1} l7_text
                            set l7_texts [list $l7_text]
                        }
                    }
                }
            }
""",
}
_OTHER_OPERANDS = r"""
            default {
            }
        }
"""
_HEADER_VALUES = r"""
        if { $l7_name ne "" } {
            if { [HTTP::header count $l7_name] == 1 } {
                set l7_lines [list [HTTP::header value $l7_name]]
            } else {
                set l7_lines [HTTP::header values $l7_name]
            }
            foreach l7_line $l7_lines {
                if { [string first "\"" $l7_line] == -1 } {
                    set l7_pieces [split $l7_line $l7_signs]
                } elseif { $l7_operand eq "cookie" } {
                    set l7_pieces [regexp -all -inline {(?:[^,;"]|"(?:[^"\\]|\\.)*"?)+} $l7_line]
                } else {
                    set l7_pieces [regexp -all -inline {(?:[^,"]|"(?:[^"\\]|\\.)*"?)+} $l7_line]
                }
                foreach l7_piece $l7_pieces {
                    set l7_text [string trim $l7_piece]
"""
_HEADER_TEXTS = {
    "host": r"""
                    if { $l7_operand eq "host" } {
                        regsub {:[^:\]]*$} [string tolower $l7_text] "" l7_text
                    }
""",
    "cookie": r"""
                    if { $l7_operand eq "cookie" } {
                        set l7_at [string first "=" $l7_text]
                        if { $l7_at == -1 || [string trim [string range $l7_text 0 [expr {$l7_at - 1}]]] ne $l7_key } {
                            continue
                        }
                        set l7_text [string trim [string range $l7_text [expr { $l7_at + 1 }] end]]
                    }
""",
}
_HEADER_VALUES_END = r"""
                    lappend l7_texts $l7_text
                }
            }
        }
"""
_EACH_TEXT = r"""
        set l7_length [string length $l7_value]
        set l7_hit 0
        foreach l7_text $l7_texts {
            switch -- $l7_how {
"""
_COMPARISONS = {
    "equal": r"""
                equal {
                    set l7_hit [expr { $l7_text eq $l7_value }]
                }
""",
    "starts": r"""
                starts {
                    set l7_hit [expr { [string range $l7_text 0 [expr { $l7_length - 1 }]] eq $l7_value }]
                }
""",
    "ends": r"""
                ends {
                    set l7_from [expr { [string length $l7_text] - $l7_length }]
                    set l7_hit [expr { [string range $l7_text $l7_from end] eq $l7_value }]
                }
""",
    "contains": r"""
                contains {
                    set l7_hit [expr { [string first $l7_value $l7_text] >= 0 }]
                }
""",
    "regex": r"""
                regex {
                    set l7_hit [regexp -- $l7_value $l7_text]
                }
""",
}
_EACH_RULE_END = r"""
            }
            if { $l7_hit } {
                break
            }
        }
        if { $l7_hit == $l7_invert } {
            set l7_all 0
            break
        }
    }
    if { $l7_all } {
        break
    }
}
if { $l7_policy > @COUNT@ } {
    set l7_policy 0
}
"""
_ACTION = r"""
set l7_target [class lookup "$l7_policy.target" @GROUP@]
set l7_code [class lookup "$l7_policy.code" @GROUP@]
switch -- [class lookup "$l7_policy.action" @GROUP@] {
    pool {
"""
_DETACH_CODE = r"""
        if { ![info exists l7_last] || $l7_last ne $l7_target } {
            LB::detach
        }
        set l7_last $l7_target
"""
_SERVER_TLS_CODE = r"""
        if { [class lookup "$l7_policy.tls" @GROUP@] eq "" } {
            SSL::disable serverside
        } else {
            SSL::enable serverside
        }
"""
_COOKIE = r"""
        set l7_cookie [URI::decode [class lookup "$l7_policy.cookie" @GROUP@]]
"""
_NO_APP_COOKIE = r"""
        set l7_app_cookie ""
"""
_PERSISTENCE = r"""
        switch -- [class lookup "$l7_policy.persist" @GROUP@] {
            none {
                persist none
            }
            source {
                persist source_addr
            }
            hash {
                persist carp [IP::client_addr]
            }
            port_hash {
                persist carp "[IP::client_addr] [TCP::client_port]"
            }
            cookie {
                if { $l7_cookie eq "" } {
                    persist cookie insert
                } else {
                    persist cookie insert $l7_cookie
                }
            }
"""
# without the cookie no persistence: an earlier request of the connection may have set another one
_APP_COOKIE = f"""
            app_cookie {{
                set l7_app_cookie $l7_cookie
                if {{ [HTTP::cookie exists $l7_cookie] }} {{
                    persist uie [HTTP::cookie value $l7_cookie] {TABLE_SECONDS}
                }} else {{
                    persist none
                }}
            }}
"""
_PERSISTENCE_END = r"""
        }
"""
_LEARN_APP_COOKIE = f"""
if {{ [info exists l7_app_cookie] && $l7_app_cookie ne "" && [HTTP::cookie exists $l7_app_cookie] }} {{
    persist add uie [HTTP::cookie value $l7_app_cookie] {TABLE_SECONDS}
}}
"""
_ANSWERS = """
        pool $l7_target
    }}
    reject {{
        {rejected}
        return
    }}
    url {{
        {url}
        return
    }}
    prefix {{
        {prefix}
        return
    }}
    default {{
        {unavailable}
        return
    }}
}}
"""
