"""TLS profiles: certificate and key in their old and new places, and that they fit."""

from __future__ import annotations

import functools
import ssl
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from icontrol_emulator import errors
from icontrol_emulator.config.model import Key, Obj
from icontrol_emulator.config.rules.misc import BuiltInRules
from icontrol_emulator.config.schema import Context

CERT = "sys/file/ssl-cert"
KEY = "sys/file/ssl-key"


class SslProfileRules(BuiltInRules):
    def normalise(self, ctx: Context, draft: Obj, props: dict[str, Any], old: Obj | None) -> None:
        chain = props.get("certKeyChain")
        if isinstance(chain, Mapping):
            chain = [{"name": name, **(entry or {})} for name, entry in chain.items()]
        before = old.props if old else {}
        if chain and chain != before.get("certKeyChain"):
            entries = [_entry(entry) for entry in chain]
            props["certKeyChain"] = entries
            props.update({name: entries[0][name] for name in ("cert", "key", "chain")})
        elif "cert" in props and any(props.get(n) != before.get(n) for n in ("cert", "key", "chain")):
            entry = {"name": "default", "cert": props["cert"], "key": props.get("key", "none"),
                     "chain": props.get("chain", "none")}  # fmt: skip
            if draft.key.type == "ltm/profile/client-ssl":
                props["certKeyChain"] = [_entry(entry)]
        if props.get("cert") not in (None, "/Common/default.crt"):
            props["inheritCertkeychain"] = "false"

    def check(self, ctx: Context, obj: Obj) -> None:
        effective = ctx.props(obj)
        pairs = effective.get("certKeyChain") or [effective]
        for pair in pairs:
            cert = ctx.store.get(Key(CERT, "", str(pair.get("cert"))))
            key = ctx.store.get(Key(KEY, "", str(pair.get("key"))))
            if cert is None or key is None:
                continue
            texts = cert.props.get("_text", ""), key.props.get("_text", "")
            if all("BEGIN" in text for text in texts) and not _fit(*texts):
                text = f"{obj.key.path} certificate and key do not match"
                raise errors.mcpd(400, "01070313", f"Error reading key PEM file: {text}")


def _entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {"appService": "none", "chain": "none", "usage": "SERVER", **entry}


def _fit(cert: str, key: str) -> bool:
    try:
        server_context(cert, key)
    except ssl.SSLError as error:
        return "MISMATCH" not in str(error).upper()
    return True


@functools.lru_cache(maxsize=256)
def server_context(cert: str, key: str) -> ssl.SSLContext:
    """A server-side TLS context; raises ssl.SSLError when the pair cannot be used."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    with tempfile.TemporaryDirectory() as folder:
        cert_file, key_file = Path(folder, "cert.pem"), Path(folder, "key.pem")
        cert_file.write_text(cert)
        key_file.write_text(key)
        context.load_cert_chain(cert_file, key_file, password=lambda: b"")
    return context
