"""HTTP basic authentication."""

import base64

import pytest

from evenkeel.serving.basic_auth import basic_credentials


def header(text: bytes) -> bytes:
    return b"Basic " + base64.b64encode(text)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (header(b"alice:pass"), (b"alice", b"pass")),
        (header(b"alice:with:colons"), (b"alice", b"with:colons")),
        (b" bAsIc  " + base64.b64encode(b":") + b" ", (b"", b"")),
        (header(b"\xff:\xfe"), (b"\xff", b"\xfe")),
    ],
)
def test_name_and_password_are_what_stands_around_the_first_colon(given: bytes, found: tuple[bytes, bytes]) -> None:
    assert basic_credentials(given) == found


@pytest.mark.parametrize("given", [b"", b"Bearer s3cret", b"Basic s3cret!", header(b"s3cret")])
def test_anything_else_is_refused_without_telling_it(given: bytes) -> None:
    with pytest.raises(ValueError, match=r"scheme|base64|colon") as caught:
        basic_credentials(given)
    assert "s3cret" not in str(caught.value) and caught.value.__cause__ is None
