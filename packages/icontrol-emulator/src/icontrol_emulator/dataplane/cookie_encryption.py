"""Encryption of cookies: what clients see of a cookie that the device encrypts with a passphrase.

A device uses AES with a key of 192 bits and shows base64 (F5's article K7784); how it derives the key, and what else it
writes, is not known: here the key is a digest of the passphrase, and the mode authenticates. That a request loses
cookies which do not decrypt is from memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from icontrol_emulator.config.secrets import seal, unseal
from icontrol_emulator.dataplane.http_wire import Head

KEY_BYTES = 24


class CookieCipher:
    """Encrypts values of cookies with one passphrase."""

    def __init__(self, passphrase: str) -> None:
        self._cipher = AESGCM(hashlib.sha256(passphrase.encode()).digest()[:KEY_BYTES])

    def encrypted(self, value: str) -> str:
        return seal(self._cipher, value.encode("latin-1"))

    def decrypted(self, text: str) -> str | None:
        """The value; None for a text that was not encrypted so."""
        plain = unseal(self._cipher, text)
        return None if plain is None else plain.decode("latin-1")


def decrypt_request(head: Head, names: Collection[str], passphrase: str) -> None:
    """Decrypt these cookies of a request."""
    if not names or not head.get(b"cookie"):
        return
    cipher = CookieCipher(passphrase)
    pairs = [pair.strip() for pair in head.get(b"cookie").decode("latin-1").split(";")]
    kept = [found for pair in pairs if (found := _decrypted(pair, names, cipher))]
    head.remove(b"cookie")
    if kept:
        head.add("Cookie", "; ".join(kept))


def encrypt_response(head: Head, names: Collection[str], passphrase: str) -> None:
    """Encrypt these cookies that a response sets."""
    if not names or not head.get(b"set-cookie"):
        return
    cipher = CookieCipher(passphrase)
    head.lines = [_encrypted(line, names, cipher) for line in head.lines]


def _decrypted(pair: str, names: Collection[str], cipher: CookieCipher) -> str:
    name, sign, value = pair.partition("=")
    if not sign or name not in names:
        return pair
    found = cipher.decrypted(value.strip('"'))
    return "" if found is None else f"{name}={found}"


def _encrypted(line: bytes, names: Collection[str], cipher: CookieCipher) -> bytes:
    field, _, content = line.decode("latin-1").partition(":")
    pair, semicolon, attributes = content.partition(";")
    name, _, value = pair.strip().partition("=")
    if field.strip().lower() != "set-cookie" or name not in names:
        return line
    return f"{field}: {name}={cipher.encrypted(value)}{semicolon}{attributes}".encode("latin-1")
