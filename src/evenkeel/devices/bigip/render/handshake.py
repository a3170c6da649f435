"""Parts of a listener's iRule for TLS handshakes. Pure.

- ``client_authentication`` OPTIONAL: a BIG-IP accepts a client with an invalid certificate; the iRule refuses it.
- The iRule sends the client's server name (SNI) to members that use TLS, because the device has no setting for that.
"""

from collections.abc import Iterable, Iterator

from evenkeel.core.devices.service import ServiceListener, ServicePool
from evenkeel.core.resources.model import TLS_PROTOCOL
from evenkeel.devices.bigip.render.rule_parts import Order, RulePart

_REFUSE_UNVERIFIED_CODE = (
    "    if { [SSL::cert count] > 0 && [SSL::verify_result] != 0 } {",
    "        reject",
    "        return",
    "    }",
)
_STORE_SERVER_NAME_CODE = (
    "    if { [SSL::extensions exists -type 0] } {",
    "        set server_name [SSL::extensions -type 0]",
    "    }",
)
_SEND_SERVER_NAME_CODE = (
    "    if { [info exists server_name] } {",
    "        SSL::extensions insert $server_name",
    "    }",
)


def handshake_rule_parts(listener: ServiceListener, pools: Iterable[ServicePool]) -> Iterator[RulePart]:
    """Yield the parts of the listener's iRule for TLS handshakes, if any is needed. ``pools``: all pools that
    the listener may send to.
    """
    if listener.protocol == TLS_PROTOCOL and listener.client_authentication == "OPTIONAL":
        yield RulePart(event="CLIENTSSL_HANDSHAKE", order=Order.ADMISSION, lines=_REFUSE_UNVERIFIED_CODE)
    if any(forwards_server_name(listener, pool) for pool in pools):
        yield RulePart(event="CLIENTSSL_HANDSHAKE", order=Order.INSERTION, lines=_STORE_SERVER_NAME_CODE)
        yield RulePart(event="SERVERSSL_CLIENTHELLO_SEND", order=Order.INSERTION, lines=_SEND_SERVER_NAME_CODE)


def forwards_server_name(listener: ServiceListener, pool: ServicePool) -> bool:
    """Whether members receive the client's server name (SNI). If so, clients must not share connections with
    members.
    """
    return listener.protocol == TLS_PROTOCOL and pool.tls_enabled
