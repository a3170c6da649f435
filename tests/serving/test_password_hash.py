"""Hashed passwords and how they are written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.kit.errors import Invalid
from evenkeel.serving import password_hash
from evenkeel.serving.password_hash import PasswordHash, format_hash, hash_password, parse_hash, password_matches

SALT = b"0123456789abcdef"


def test_only_the_password_itself_matches() -> None:
    stored = hash_password("correct horse", SALT)
    assert password_matches(b"correct horse", stored)
    assert not password_matches(b"correct horsf", stored) and not password_matches(b"", stored)


def test_another_salt_makes_another_key() -> None:
    assert hash_password("x", SALT).key != hash_password("x", SALT[::-1]).key


@pytest.mark.parametrize("password", ["", "x\0y", "x" * 1025])
def test_impossible_password_is_refused_without_quoting_it(password: str) -> None:
    with pytest.raises(Invalid) as caught:
        hash_password(password, SALT)
    assert "xx" not in str(caught.value)


@given(
    salt=st.binary(min_size=1, max_size=32),
    key=st.binary(min_size=16, max_size=64),
    cost=st.integers(1, 17),
    block=st.integers(1, 16),
    parallel=st.integers(1, 4),
)
def test_a_hash_that_is_written_is_read_as_it_was(
    salt: bytes, key: bytes, cost: int, block: int, parallel: int
) -> None:
    stored = PasswordHash(salt=salt, key=key, cost_log2=cost, block_size=block, parallelism=parallel)
    assert parse_hash(format_hash(stored)) == stored


def test_unknown_user_is_refused_whatever_the_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(password_hash, "derive_key", lambda password, parameters: parameters.key)
    assert not password_matches(b"x", None)
    assert password_matches(b"x", PasswordHash(salt=SALT, key=bytes(32)))


def test_a_password_is_not_cut_short() -> None:
    assert not password_matches(b"x" * 1025, hash_password("x" * 1024, SALT))
