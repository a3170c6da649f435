"""HTTP basic against a password file."""

import asyncio
import base64
import threading
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from evenkeel.api.identity import password_file
from evenkeel.api.identity.caller import Caller, Unauthenticated
from evenkeel.api.identity.password_file import DELAY_AFTER_FAILURE, FailedLogins, PasswordFileIdentity
from evenkeel.api.identity.users import checked_user, format_user_line, watched_users
from evenkeel.api.responses.errors import Refusal
from evenkeel.serving import password_hash
from evenkeel.serving.password_file import write_lines
from evenkeel.serving.password_hash import PasswordHash, hash_password
from tests.clock import HandClock

PASSWORD = "correct horse"


@pytest.fixture(autouse=True)
def cheap_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashes that cost little."""
    monkeypatch.setattr(password_hash, "derive_key", lambda password, hash: (hash.salt + password + bytes(32))[:32])


def write(path: Path, *users: tuple[str, str]) -> None:
    """Users of project p by name and password."""
    rows = [checked_user(name, "p", ["member"], hash_password(password, b"salt")) for name, password in users]
    write_lines(path, map(format_user_line, rows))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A password file with one user."""
    file = tmp_path / "users"
    write(file, ("alice", PASSWORD))
    return file


@pytest.fixture
def clock() -> HandClock:
    """Time."""
    return HandClock()


@pytest.fixture
def identity(path: Path, clock: HandClock) -> PasswordFileIdentity:
    """The identity over the file."""
    return PasswordFileIdentity(watched_users(path), clock)


def basic(name: str, password: str, scheme: str = "Basic") -> dict[bytes, bytes]:
    """The header of a login."""
    return {b"authorization": f"{scheme} ".encode() + base64.b64encode(f"{name}:{password}".encode())}


async def ask(identity: PasswordFileIdentity, headers: dict[bytes, bytes]) -> Caller:
    return await identity.identify(headers, {})


async def test_the_right_password_makes_the_user_of_the_file(identity: PasswordFileIdentity) -> None:
    caller = await ask(identity, basic("alice", PASSWORD))
    assert (caller.user_id, caller.project_id, caller.roles) == ("alice", "p", ("member",))
    assert await ask(identity, basic("alice", PASSWORD, "bAsIc")) == caller


@pytest.mark.parametrize(
    "headers",
    [
        {},
        basic("alice", "wrong"),
        basic("bob", PASSWORD),
        basic("alice", ""),
        {b"authorization": b"Basic"},
        {b"authorization": b"Basic %%%"},
        {b"authorization": b"Basic " + base64.b64encode(b"alice")},
        {b"authorization": b"Basic " + base64.b64encode(b"\xff:\xff")},
        {b"authorization": b"Bearer " + base64.b64encode(f"alice:{PASSWORD}".encode())},
        {b"authorization": b"Basic " + b"A" * 10_000},
    ],
)
async def test_anything_else_has_to_log_in(identity: PasswordFileIdentity, headers: dict[bytes, bytes]) -> None:
    with pytest.raises(Unauthenticated) as caught:
        await ask(identity, headers)
    ((name, value),) = caught.value.headers
    assert name == b"www-authenticate" and value.startswith(b'Basic realm="evenkeel"')


async def test_the_second_login_needs_no_hash(identity: PasswordFileIdentity, monkeypatch: pytest.MonkeyPatch) -> None:
    await ask(identity, basic("alice", PASSWORD))
    monkeypatch.setattr(password_file, "password_matches", lambda *_: pytest.fail("hashed again"))
    await ask(identity, basic("alice", PASSWORD))


async def test_nothing_of_the_password_is_remembered(identity: PasswordFileIdentity) -> None:
    await ask(identity, basic("alice", PASSWORD))
    held: Any = vars(identity)["_remembered"]
    assert PASSWORD not in repr(held) and basic("alice", PASSWORD)[b"authorization"] not in held


async def test_logins_at_the_same_time_cost_one_hash(
    identity: PasswordFileIdentity, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked = []

    def counting(password: bytes, hash: PasswordHash | None) -> bool:
        checked.append(password)
        return password_hash.password_matches(password, hash)

    monkeypatch.setattr(password_file, "password_matches", counting)
    await asyncio.gather(*(ask(identity, basic("alice", PASSWORD)) for _ in range(20)))
    assert len(checked) == 1


async def test_a_changed_file_counts_within_a_second_and_ends_what_was_remembered(
    identity: PasswordFileIdentity, path: Path, clock: HandClock
) -> None:
    await ask(identity, basic("alice", PASSWORD))
    write(path, ("alice", "another"), ("bob", PASSWORD))
    clock.now += 1.0
    with pytest.raises(Unauthenticated):
        await ask(identity, basic("alice", PASSWORD))
    await ask(identity, basic("alice", "another"))
    await ask(identity, basic("bob", PASSWORD))


def make_bad(path: Path, how: str) -> None:
    """Spoil the file."""
    if how == "line":
        write_lines(path, ["alice:p:member:secret-hash"])
    elif how == "mode":
        path.chmod(0o644)
    elif how == "bytes":
        path.write_bytes(b"\xff\xfe")
    else:
        path.unlink()


@pytest.mark.parametrize("spoil", ["line", "mode", "gone", "bytes"])
async def test_a_file_that_became_bad_leaves_the_users_as_they_were_and_is_reported_once(
    identity: PasswordFileIdentity, path: Path, clock: HandClock, spoil: str
) -> None:
    make_bad(path, spoil)
    with capture_logs() as logs:
        for _ in range(3):
            clock.now += 2.0
            await ask(identity, basic("alice", PASSWORD))
    (entry,) = [entry for entry in logs if entry["log_level"] == "error"]
    assert str(path) == entry["path"] and "secret-hash" not in str(entry)


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o606])
def test_a_file_that_others_may_read_is_refused_at_start(path: Path, mode: int) -> None:
    path.chmod(mode)
    with pytest.raises(ValueError, match=rf"identity.password_file: {path}: mode {mode:04o}. Allowed: 0600"):
        watched_users(path)


def test_a_file_that_does_not_exist_is_refused_at_start(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="No such file"):
        watched_users(tmp_path / "nowhere")


async def test_wrong_passwords_take_longer_and_longer_and_a_right_one_ends_that(
    identity: PasswordFileIdentity, clock: HandClock
) -> None:
    taken = []
    for _ in range(7):
        before = clock.now
        with pytest.raises(Unauthenticated):
            await ask(identity, basic("alice", "wrong"))
        taken.append(clock.now - before)
    assert taken == [0.25, 0.5, 1.0, 2.0, 4.0, 5.0, 5.0]
    before = clock.now
    await ask(identity, basic("alice", PASSWORD))
    assert clock.now == before
    with pytest.raises(Unauthenticated):
        await ask(identity, basic("alice", "wrong"))
    assert clock.now == before + 0.25


async def test_an_unknown_user_costs_a_hash_too(
    identity: PasswordFileIdentity, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked = []
    monkeypatch.setattr(password_file, "password_matches", lambda *given: checked.append(given) or False)
    with pytest.raises(Unauthenticated):
        await ask(identity, basic("nobody", PASSWORD))
    assert len(checked) == 1


async def test_an_unknown_user_is_refused_even_if_the_dummy_hash_matched(
    identity: PasswordFileIdentity, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(password_file, "password_matches", lambda *_: True)
    with pytest.raises(Unauthenticated):
        await ask(identity, basic("nobody", PASSWORD))


async def test_strangers_with_wrong_passwords_lock_nobody_out(
    identity: PasswordFileIdentity, path: Path, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One queue for all answered every right first login with 429, as long as others guessed."""
    write(path, *((f"user-{number}", PASSWORD) for number in range(12)))
    clock.now += 1.0
    go_on = threading.Event()

    def slow(password: bytes, hash: PasswordHash | None) -> bool:
        assert go_on.wait(60)
        return password_hash.password_matches(password, hash)

    monkeypatch.setattr(password_file, "password_matches", slow)
    guessing = [
        asyncio.create_task(identity.identify(basic("user-1", f"guess-{number}"), client("192.0.2.66")))
        for number in range(200)
    ]
    await asyncio.sleep(0)
    right = [
        asyncio.create_task(identity.identify(basic(f"user-{number}", PASSWORD), client(f"192.0.2.{number}")))
        for number in range(12)
    ]
    await asyncio.sleep(0)
    guessing.append(asyncio.create_task(identity.identify(basic("user-1", "another"), client("192.0.2.66"))))
    await asyncio.sleep(0)  # it has the place of the one that is being checked
    with pytest.raises(Refusal) as caught:
        await identity.identify(basic("user-1", "one more"), client("192.0.2.66"))
    assert caught.value.status == 429 and caught.value.headers == ((b"retry-after", b"1"),)
    go_on.set()
    assert [caller.user_id for caller in await asyncio.gather(*right)] == [f"user-{number}" for number in range(12)]
    for task in guessing:
        task.cancel()
    await asyncio.gather(*guessing, return_exceptions=True)


def client(address: str) -> dict[str, Any]:
    """The scope of a request from there."""
    return {"client": (address, 4711)}


async def test_a_refused_login_is_logged_without_the_password(identity: PasswordFileIdentity) -> None:
    with capture_logs() as logs, pytest.raises(Unauthenticated):
        await ask(identity, basic("alice", "pass-w0rd"))
    assert [entry["user"] for entry in logs] == ["alice"] and "pass-w0rd" not in str(logs)


def test_the_file_is_replaced_whole_and_for_its_owner_alone(path: Path) -> None:
    write_lines(path, ["# empty"])
    assert path.stat().st_mode & 0o777 == 0o600
    assert sorted(item.name for item in path.parent.iterdir()) == ["users"]


def test_failures_of_names_that_no_user_can_have_count_together(clock: HandClock) -> None:
    """Anybody can send them, each as long as a header."""
    failures = FailedLogins(clock)
    for number in range(100):
        failures.record_failure(f"{number} " + "x" * 6000)
    assert len(vars(failures)["_counts"]) == 1
    assert failures.record_failure("another name") == DELAY_AFTER_FAILURE.max_seconds
    assert failures.record_failure("alice") == DELAY_AFTER_FAILURE.initial_seconds
