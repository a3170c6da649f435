"""Lines of an API's password file."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.api.identity.users import checked_user, format_user_line, parse_user_line, parse_users
from evenkeel.core.kit.errors import Invalid
from evenkeel.serving.password_hash import PasswordHash

SALT = b"0123456789abcdef"
CHEAP = PasswordHash(salt=SALT, key=b"k" * 32)
NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}", fullmatch=True)
PROJECTS = st.from_regex(r"[A-Za-z0-9]{1,36}", fullmatch=True)
ROLES = st.lists(st.from_regex(r"[A-Za-z0-9._-]{1,64}", fullmatch=True), max_size=5)


@given(NAMES, PROJECTS, ROLES, st.binary(min_size=1, max_size=32), st.binary(min_size=16, max_size=32))
def test_a_line_states_what_its_user_is(name: str, project: str, roles: list[str], salt: bytes, key: bytes) -> None:
    user = checked_user(name, project, roles, PasswordHash(salt=salt, key=key, cost_log2=4))
    assert parse_user_line(format_user_line(user)) == user


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("alice:p:member", "3 fields"),
        ("alice:p:member:plain", "hash: not a scrypt hash"),
        ("alice:p:member:$scrypt$ln=30,r=8,p=1$AAAA$BBBB", "at most ln=17"),
        ("alice:p:member:$scrypt$ln=14,r=8,p=1$AAAA$BBBB", "a key of 3 bytes"),
        ("alice:p:member:$scrypt$ln=14,r=8,p=1$A$B", "base64"),
        ("al ice:p:member:" + format_user_line(checked_user("a", "p", [], CHEAP)).split(":")[3], "user: 'al ice'"),
        (
            "alice:p/q:member:" + format_user_line(checked_user("a", "p", [], CHEAP)).split(":")[3],
            "field/attribute project",
        ),
        ("alice:p:mem ber:" + format_user_line(checked_user("a", "p", [], CHEAP)).split(":")[3], "roles: 'mem ber'"),
    ],
)
def test_a_bad_line_is_refused_by_number_and_field_and_its_hash_is_not_reported(line: str, told: str) -> None:
    with pytest.raises(Invalid, match=r"^line 2: ") as caught:
        parse_users(f"# a comment\n{line}\n")
    assert told in str(caught.value) and "BBBB" not in str(caught.value)


def test_a_user_may_be_there_once() -> None:
    line = format_user_line(checked_user("a", "p", [], CHEAP))
    with pytest.raises(Invalid, match="line 3: user 'a' is there twice"):
        parse_users(f"{line}\n\n{line}\n")
