"""Encryption at rest: AES-256-GCM (NIST SP 800-38D) with the keys of a key file."""

import os
from collections.abc import Sequence
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from evenkeel.core.kit.secret_files import SecretFileNotPrivate, decode_base64_secret, read_secret_file

KEY_BYTES = 32
KEYS_MAX = 16
_NONCE_BYTES = 12
_VERSION = b"evenkeel-1\n"
_FILE_BYTES_MAX = 64 * 1024


class UndecryptableContent(Exception):
    """No key decrypts the content, or it was modified or moved."""


class Encryption:
    """Encrypts contents with the first of ``keys`` (32 bytes each), and decrypts with any of them, so that
    keys can be replaced.
    """

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._ciphers = tuple(AESGCM(key) for key in keys)

    def encrypt(self, content: bytes, place: str) -> bytes:
        """Encrypt a file's content. ``place``: where the content is stored, as authenticated data, so that
        content moved elsewhere cannot be decrypted.
        """
        # Random nonces are safe for 2**32 contents of one key (NIST SP 800-38D, 8.3).
        nonce = os.urandom(_NONCE_BYTES)
        return _VERSION + nonce + self._ciphers[0].encrypt(nonce, content, place.encode())

    def decrypt(self, content: bytes, place: str) -> bytes:
        """Decrypt a file's content, which must have been encrypted for the same ``place``. Raises
        :class:`UndecryptableContent` if no key fits, or the content was modified or moved.
        """
        sealed = content.removeprefix(_VERSION)
        if sealed != content and len(sealed) > _NONCE_BYTES:
            for cipher in self._ciphers:
                try:
                    return cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], place.encode())
                except InvalidTag:
                    continue
        raise UndecryptableContent


def read_key_file(path: Path) -> Encryption:
    """Read a key file: one key per line, 32 bytes in base64 (``openssl rand -base64 32``); the first key encrypts, the
    others are former keys. Raises :class:`ValueError` naming the file, without its contents.
    """
    try:
        text = read_secret_file(path, bytes_max=_FILE_BYTES_MAX)
    except OSError as error:
        raise ValueError(f"{path}: unreadable ({error.strerror})") from None
    except SecretFileNotPrivate:
        raise ValueError(f"{path}: others than its owner may use it; chmod 600 {path}") from None
    keys = [decode_base64_secret(line) for line in text.split()]
    if not 1 <= len(keys) <= KEYS_MAX or any(len(key) != KEY_BYTES for key in keys):
        raise ValueError(f"{path}: 1 to {KEYS_MAX} lines of {KEY_BYTES} bytes in base64 are allowed")
    return Encryption(keys)
