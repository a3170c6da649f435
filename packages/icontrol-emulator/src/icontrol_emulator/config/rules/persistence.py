"""Persistence profiles: times, masks and cookies."""

from __future__ import annotations

import ipaddress
import re
from typing import Any

from icontrol_emulator import errors
from icontrol_emulator.config.model import Obj
from icontrol_emulator.config.rules.misc import BuiltInRules
from icontrol_emulator.config.schema import Context
from icontrol_emulator.config.secrets import hide

_TIME = re.compile(r"indefinite|\d{1,10}|(\d{1,5}:){1,3}\d{1,5}")
_COOKIE_NAME = re.compile(r"""[^\s()<>@,;:\\"/\[\]?={}\x00-\x1f\x7f]+""")


class PersistenceRules(BuiltInRules):
    """The texts of the refusals are from memory."""

    def normalise(self, ctx: Context, draft: Obj, props: dict[str, Any], old: Obj | None) -> None:
        for name in ("timeout", "expiration"):
            value = str(props.get(name, "0"))
            # a colon separates days, hours, minutes and seconds
            if not _TIME.fullmatch(value) or (name == "timeout" and ":" in value):
                raise errors.invalid_value(name, value)
        mask = str(props.get("mask", "none"))
        if mask not in ("none", "") and not _is_mask(mask):
            raise errors.invalid_value("mask", mask)
        name = str(props.get("cookieName", "none"))
        if not _COOKIE_NAME.fullmatch(name):
            raise errors.invalid_value("cookieName", name)
        hide(props, "cookieEncryptionPassphrase")

    def check(self, ctx: Context, obj: Obj) -> None:
        props = ctx.props(obj)
        if props.get("method") == "hash" and props.get("cookieName") == "none" and not obj.props.get("_system"):
            text = f"Cookie persistence profile {obj.key.path} with method hash requires a cookie name"
            raise errors.configuration_error(text)


def _is_mask(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return text.isdigit() and int(text) <= 128
    return True
