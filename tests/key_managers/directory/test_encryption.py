"""Encryption at rest and its key file."""

import base64
import os
from pathlib import Path

import pytest

from evenkeel.key_managers.directory.encryption import KEY_BYTES, Encryption, UndecryptableContent, read_key_file

ONE, OTHER = bytes(range(KEY_BYTES)), bytes(KEY_BYTES)


def key_file(path: Path, *keys: bytes, mode: int = 0o600) -> Path:
    path.write_bytes(b"".join(base64.b64encode(key) + b"\n" for key in keys))
    path.chmod(mode)
    return path


def test_content_is_decrypted_only_at_its_own_place() -> None:
    encryption = Encryption([ONE])
    sealed = encryption.encrypt(b"canary", "here")

    assert b"canary" not in sealed
    assert encryption.decrypt(sealed, "here") == b"canary"
    assert encryption.encrypt(b"canary", "here") != sealed
    for content, place in ((sealed, "there"), (sealed[:-1], "here"), (b"", "here"), (b"evenkeel-1\n", "here")):
        with pytest.raises(UndecryptableContent):
            encryption.decrypt(content, place)


def test_former_keys_decrypt_and_the_first_one_encrypts(tmp_path: Path) -> None:
    former, both = Encryption([OTHER]), read_key_file(key_file(tmp_path / "keys", ONE, OTHER))

    assert both.decrypt(former.encrypt(b"old", "here"), "here") == b"old"
    assert Encryption([ONE]).decrypt(both.encrypt(b"new", "here"), "here") == b"new"


@pytest.mark.parametrize("keys", [(), (b"short",), (ONE, b"short"), (ONE,) * 17, (os.urandom(KEY_BYTES + 1),)])
def test_a_key_file_that_does_not_hold_keys_is_refused(tmp_path: Path, keys: tuple[bytes, ...]) -> None:
    with pytest.raises(ValueError, match="32 bytes in base64"):
        read_key_file(key_file(tmp_path / "keys", *keys))


def test_a_key_file_that_others_may_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="chmod 600"):
        read_key_file(key_file(tmp_path / "keys", ONE, mode=0o640))
    with pytest.raises(ValueError, match="unreadable"):
        read_key_file(tmp_path / "none")
