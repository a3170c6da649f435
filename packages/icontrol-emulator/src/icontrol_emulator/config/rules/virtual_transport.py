"""Transport profiles that a virtual server may have together, and with which protocol.

The numbers and texts of the refusals are from memory, the rules from F5's reference of profile types.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from icontrol_emulator import errors
from icontrol_emulator.config.model import Obj

TRANSPORTS = ("fastl4", "fasthttp", "tcp", "udp", "sctp", "ipother")
ALONE = frozenset({"fastl4", "fasthttp", "ipother"})
"""Transports that serve both sides and stand beside no other one."""
OF_PROTOCOL = {
    "tcp": frozenset({"tcp", "fastl4", "fasthttp"}),
    "udp": frozenset({"udp", "fastl4"}),
    "sctp": frozenset({"sctp", "fastl4"}),
}
"""`ipProtocol` -> the transport profiles that fit; others take FastL4 and IPOther."""
WITHOUT_NAME = frozenset({"fastl4", "ipother"})
ON_TCP = frozenset({
    "http", "http2", "one-connect", "http-compression", "web-acceleration", "ftp", "smtp", "smtps", "rewrite", "html",
    "websocket", "stream",
})  # fmt: skip
"""Profiles that need a TCP profile below them."""


class Attached(NamedTuple):
    """A profile of a virtual server: the last word of its type, and on which side it is used."""

    kind: str
    context: str


def check_transport(virtual: Obj, profiles: Sequence[Attached]) -> None:
    transports = [each for each in profiles if each.kind in TRANSPORTS]
    kinds = {each.kind for each in transports}
    fits = OF_PROTOCOL.get(str(virtual.props.get("ipProtocol", "any")), WITHOUT_NAME)
    alone = kinds & ALONE
    if not kinds <= fits or (alone and len(transports) > 1) or len(kinds) > 1:
        raise _incompatible(virtual)
    if any(_has_side_twice(each.context for each in transports if each.kind == kind) for kind in kinds):
        raise errors.mcpd(400, "01070097", f"Virtual server {virtual.key.path} lists duplicate profiles.")
    upper = {each.kind for each in profiles} & ON_TCP
    if upper and kinds and not kinds & {"tcp", "fasthttp", "fastl4"} and upper != {"stream"}:
        raise _incompatible(virtual)


def _has_side_twice(contexts: Iterable[str]) -> bool:
    """Whether a side would have two profiles of a kind."""
    sides = [side for each in contexts for side in (("clientside", "serverside") if each == "all" else (each,))]
    return len(sides) > len(set(sides))


def _incompatible(virtual: Obj) -> errors.IControlError:
    return errors.mcpd(400, "01070095", f"Virtual server {virtual.key.path} lists incompatible profiles.")
