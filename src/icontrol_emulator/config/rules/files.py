"""Certificates and keys as files on the device.

The text of an uploaded file is kept with the object (never shown), so that a virtual server can really use it.
`sourcePath` is resolved by the REST layer, which puts the text into the body as `content`.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import Any

from icontrol_emulator import errors
from icontrol_emulator.config.model import Obj
from icontrol_emulator.config.rules.misc import check_users
from icontrol_emulator.config.schema import Context, TypeRules


def _stamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class FileRules(TypeRules):
    """What every file object shows: size, checksum, revision."""

    def normalise(self, ctx: Context, draft: Obj, props: dict[str, Any], old: Obj | None) -> None:
        text = str(props.pop("content", "") or "")
        if not text and old is not None:
            return
        data = text.encode()
        revision = old.props.get("revision", 0) + 1 if old else 1
        props.update(
            _text=text,
            size=len(data),
            revision=revision,
            checksum=f"SHA1:{len(data)}:{hashlib.sha1(data, usedforsecurity=False).hexdigest()}",
            lastUpdateTime=_stamp(ctx.now()),
            createdBy="root",
            updatedBy="root",
        )
        props.setdefault("createTime", _stamp(ctx.now()))
        props.setdefault("sourcePath", f"/config/ssl/{draft.name}")

    def check(self, ctx: Context, obj: Obj) -> None:
        """A certificate and its key must still fit in the profiles that use them."""
        check_users(ctx, obj.key.type, obj)


class CertRules(FileRules):
    def normalise(self, ctx: Context, draft: Obj, props: dict[str, Any], old: Obj | None) -> None:
        super().normalise(ctx, draft, props, old)
        props.setdefault("certificateKeySize", 2048)
        props.setdefault("expirationDate", int(ctx.now()) + 315_360_000)
        until = datetime.fromtimestamp(props["expirationDate"], UTC)
        props.setdefault("expirationString", until.strftime("%b %d %H:%M:%S %Y GMT"))
        props.setdefault("issuer", "CN=emulated")
        props.setdefault("subject", "CN=emulated")
        props.setdefault("serialNumber", "1")


class KeyRules(FileRules):
    def normalise(self, ctx: Context, draft: Obj, props: dict[str, Any], old: Obj | None) -> None:
        super().normalise(ctx, draft, props, old)
        props.pop("passphrase", None)


class CryptoRules(TypeRules):
    """sys/crypto is a view of sys/file with commands; it stores nothing itself."""

    def __init__(self, file_type: str) -> None:
        self.file_type = file_type

    def normalise(self, ctx: Context, draft: Obj, props: dict[str, Any], old: Obj | None) -> None:
        raise errors.configuration_error("use the install command")
