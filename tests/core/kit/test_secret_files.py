"""Files with secrets are read only if they are their owner's alone, and secrets in base64 without an error that quotes
them."""

from pathlib import Path

import pytest

from evenkeel.core.kit.secret_files import SecretFileNotPrivate, decode_base64_secret, read_secret_file


def test_the_beginning_of_a_file_of_its_owner_is_read(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_bytes(b"0123456789")
    file.chmod(0o400)
    assert read_secret_file(file, bytes_max=4) == b"0123"
    with pytest.raises(FileNotFoundError):
        read_secret_file(tmp_path / "none", bytes_max=4)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o601])
def test_a_file_that_others_may_use_is_refused_with_its_mode(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "key"
    file.touch()
    file.chmod(mode)
    with pytest.raises(SecretFileNotPrivate) as refused:
        read_secret_file(file, bytes_max=4)
    assert refused.value.mode == mode


@pytest.mark.parametrize(
    ("text", "url_safe", "content"),
    [
        (b"+/8=", False, b"\xfb\xff"),
        (b"-_8=", True, b"\xfb\xff"),
        (b"-_8=", False, b""),
        (b"+/8", False, b""),
        ("ü".encode(), False, b""),
        (b"", False, b""),
    ],
)
def test_a_text_that_is_not_base64_is_no_secret(text: bytes, url_safe: bool, content: bytes) -> None:
    assert decode_base64_secret(text, url_safe=url_safe) == content
