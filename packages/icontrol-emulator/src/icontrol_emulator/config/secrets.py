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


def seal(cipher: AESGCM, plain: bytes) -> str:
    """Encrypt into base64, in another form at each call."""
    nonce = secrets.token_bytes(_NONCE_BYTES)
    return base64.b64encode(nonce + cipher.encrypt(nonce, plain, None)).decode()


def unseal(cipher: AESGCM, text: str) -> bytes | None:
    """Return what `seal` encrypted; None for anything else."""
    try:
        raw = base64.b64decode(text, validate=True)
        return cipher.decrypt(raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], None)
    except (ValueError, InvalidTag):
        return None


def hide(props: dict[str, Any], name: str) -> None:
    """Encrypt a property that was given in the clear."""
    given = props.get(name)
    if isinstance(given, str) and given not in ("", "none") and not given.startswith(_BEGIN):
        props[name] = f"{_BEGIN}{secrets.token_hex(1)}${seal(_MASTER, given.encode())}"


def revealed(shown: object) -> str:
    """Return the text that `hide` encrypted; empty for anything else."""
    if not isinstance(shown, str) or not shown.startswith(_BEGIN):
        return ""
    return (unseal(_MASTER, shown.rpartition("$")[2]) or b"").decode()
