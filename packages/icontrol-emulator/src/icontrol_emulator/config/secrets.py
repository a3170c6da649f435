"""Secrets as a device keeps them: encrypted, and shown so (`$M$...`), in another form at each write.

A device encrypts with its master key, which the devices of a trust share; here one key stands for all of them.
"""

from __future__ import annotations

import base64
import secrets
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_MASTER = AESGCM(b"master key of every emulated unit"[:32])
_BEGIN = "$M$"
_NONCE_BYTES = 12


def hide(props: dict[str, Any], name: str) -> None:
    """Encrypt a property that was given in the clear."""
    given = props.get(name)
    if isinstance(given, str) and given not in ("", "none") and not given.startswith(_BEGIN):
        nonce = secrets.token_bytes(_NONCE_BYTES)
        sealed = base64.b64encode(nonce + _MASTER.encrypt(nonce, given.encode(), None)).decode()
        props[name] = f"{_BEGIN}{secrets.token_hex(1)}${sealed}"


def revealed(shown: object) -> str:
    """Return the text that `hide` encrypted; empty for anything else."""
    if not isinstance(shown, str) or not shown.startswith(_BEGIN):
        return ""
    try:
        raw = base64.b64decode(shown.rpartition("$")[2], validate=True)
        return _MASTER.decrypt(raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], None).decode()
    except (ValueError, InvalidTag):
        return ""
