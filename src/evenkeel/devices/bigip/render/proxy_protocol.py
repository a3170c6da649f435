"""The PROXY protocol towards members (pools of protocol PROXY and PROXYV2), by parts of the listener's iRule. Pure.

The header is the first data on a connection with a member, before TLS. Such a connection belongs to one client, so
there is no OneConnect. Format: the PROXY protocol specification of HAProxy, versions 1 and 2. The binary header is
built as hexadecimal text and made bytes at the end, so that no text in between is taken as UTF-8.
"""

from collections.abc import Iterator

from evenkeel.core.devices.service import ServicePool
from evenkeel.devices.bigip.render.rule_parts import Order, RulePart

_CLIENT, _LOCAL = "[getfield [IP::client_addr] % 1]", "[getfield [IP::local_addr] % 1]"
"""iRule expressions for the addresses of client and VIP, without a route domain."""
_TEXT_HEADER_CODE = (
    f'    set proxy_header "PROXY TCP[IP::version] {_CLIENT} {_LOCAL} [TCP::client_port] [TCP::local_port]\\r\\n"',
)
SIGNATURE = "0d0a0d0a000d0a515549540a"
_IPV4_STREAM, _IPV6_STREAM = "2111000c", "21210024"
"""Fixed part of the binary header: version 2 and command PROXY; family and transport; bytes of addresses and ports."""
_BINARY_HEADER_CODE = (
    "    if { [IP::version] == 4 } {",
    f"        set proxy_hex {SIGNATURE}{_IPV4_STREAM}",
    f"        foreach address [list {_CLIENT} {_LOCAL}] {{",
    "            foreach octet [split $address .] {",
    "                append proxy_hex [format %02x $octet]",
    "            }",
    "        }",
    "    } else {",
    f"        set proxy_hex {SIGNATURE}{_IPV6_STREAM}",
    f"        foreach address [list {_CLIENT} {_LOCAL}] {{",
    "            set halves [split [string map {:: |} $address] |]",
    "            set head [split [lindex $halves 0] :]",
    "            set tail [split [lindex $halves 1] :]",
    "            foreach group $head {",
    "                append proxy_hex [format %04x 0x$group]",
    "            }",
    "            append proxy_hex [string repeat 0000 [expr { 8 - [llength $head] - [llength $tail] }]]",
    "            foreach group $tail {",
    "                append proxy_hex [format %04x 0x$group]",
    "            }",
    "        }",
    "    }",
    "    append proxy_hex [format %04x%04x [TCP::client_port] [TCP::local_port]]",
    "    set proxy_header [binary format H* $proxy_hex]",
)
_CODE_BY_PROTOCOL = {"PROXY": _TEXT_HEADER_CODE, "PROXYV2": _BINARY_HEADER_CODE}


def proxy_protocol_rule_parts(pool: ServicePool | None) -> Iterator[RulePart]:
    """Yield the parts of the iRule that send the PROXY header to members; nothing for pools of other
    protocols. ``pool``: the listener's first pool.
    """
    if pool is None or pool.protocol not in _CODE_BY_PROTOCOL:
        return
    yield RulePart(event="CLIENT_ACCEPTED", order=Order.INSERTION, lines=_CODE_BY_PROTOCOL[pool.protocol])
    yield RulePart(event="SERVER_CONNECTED", order=Order.INSERTION, lines=("    TCP::respond $proxy_header",))
