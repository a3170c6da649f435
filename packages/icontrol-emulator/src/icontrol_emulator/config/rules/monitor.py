"""Monitors: their targets and answers, and what they may be attached to."""

from __future__ import annotations

from typing import Any

from icontrol_emulator import errors
from icontrol_emulator.config.model import Obj, Target
from icontrol_emulator.config.names import is_address, split_endpoint
from icontrol_emulator.config.rules.misc import BuiltInRules
from icontrol_emulator.config.schema import Context
from icontrol_emulator.errors import IControlError

SECONDS_MAX = 86_400
"""The greatest time-out, as a device was seen to refuse a greater one (sapcc/octavia-f5-provider-driver, pull 197)."""
TIMES = {
    "interval": (1, SECONDS_MAX), "timeout": (1, SECONDS_MAX), "upInterval": (0, SECONDS_MAX),
    "timeUntilUp": (0, 2**32 - 1),
}  # fmt: skip
OF_SERVICES = frozenset({"http", "https", "http2", "tcp", "tcp-half-open", "udp"})
"""Kinds that probe a port."""
PORTLESS = frozenset({"ltm/monitor/icmp", "ltm/monitor/tcp-echo"})
"""Types whose destination is without a port: the factory's are `*`."""


class MonitorRules(BuiltInRules):
    def normalise(self, ctx: Context, draft: Obj, props: dict[str, Any], old: Obj | None) -> None:
        if props.get("defaultsFrom") == draft.key.path:
            raise errors.configuration_error("A monitor may not default from itself")
        password = props.get("password")
        if isinstance(password, str) and not password.startswith("$M$"):
            props["password"] = f"$M$em${len(password)}"
        destination = props.get("destination")
        if isinstance(destination, str) and not _is_target(draft.key.type, destination):
            raise errors.invalid_value("destination", destination)

    def check(self, ctx: Context, obj: Obj) -> None:
        """The texts are from memory."""
        props = ctx.props(obj)
        profile = ctx.store.find(Target("profile", str(props.get("sslProfile") or "none")))
        if profile is not None and profile.key.type != "ltm/profile/server-ssl":
            text = f"Monitor {obj.key.path} requires a server SSL profile, not {profile.key.path}"
            raise errors.configuration_error(text)
        if _is_given(props.get("recvDisable")) and not _is_given(props.get("recv")):
            text = f"Monitor {obj.key.path} has a receive disable string without a receive string"
            raise errors.configuration_error(text)

    def in_use(self, ctx: Context, obj: Obj, user: Obj) -> IControlError:
        return errors.mcpd(400, "01070083", f"Monitor {obj.key.path} is in use.")


def check_has_port(ctx: Context, path: str, port: int) -> None:
    """A monitor that takes its port from what it is attached to needs one there. The text is from memory."""
    monitor = ctx.store.find(Target("monitor", path)) if not port else None
    if monitor is None or monitor.key.type.rpartition("/")[2] not in OF_SERVICES:
        return
    target = split_endpoint(str(ctx.props(monitor).get("destination", "*:*")))
    if target is not None and not target.port:
        text = f"The monitor {path} has a wildcard destination service and cannot be associated with a node that has a "
        raise errors.mcpd(400, "01070622", f"{text}zero service.")


def _is_target(kind: str, text: str) -> bool:
    """`*:*`, `*:80` or an address with a port; an address with any port is none. Kinds without a port: `*` or an
    address.
    """
    if kind in PORTLESS and (text == "*" or is_address(text)):
        return True
    endpoint = split_endpoint(text)
    if endpoint is None:
        return False
    return endpoint.host == "*" or (is_address(endpoint.host) and endpoint.port > 0)


def _is_given(text: object) -> bool:
    return text not in (None, "", "none")
