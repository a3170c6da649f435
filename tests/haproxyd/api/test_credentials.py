"""Names and passwords of agents."""

import asyncio
import base64
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import structlog

from evenkeel.haproxyd.api import credentials
from evenkeel.haproxyd.api.credentials import AgentCredentials, TooManyAttempts, WrongCredentials, add_agent
from evenkeel.serving import password_hash
from evenkeel.serving.login_queue import OF_PEER_MAX
from evenkeel.serving.password_hash import PasswordHash
from tests.waiting import eventually

PASSWORD = "correct horse battery"


def basic(name: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(credentials, "WRONG_PASSWORD_DELAY_SECONDS", 0.01)
    add_agent(tmp_path / "credentials", "agent-1", PASSWORD)
    return tmp_path / "credentials"


async def test_the_right_password_gives_the_agents_name(file: Path) -> None:
    assert await AgentCredentials(file).authenticate(basic("agent-1", PASSWORD), peer="x") == "agent-1"


@pytest.mark.parametrize(
    "header",
    [
        basic("agent-1", "wrong"),
        basic("agent-2", PASSWORD),
        basic("agent-1", ""),
        basic("", PASSWORD),
        "Basic !!!",
        "Bearer " + PASSWORD,
        "",
        "Basic " + base64.b64encode(b"\xff\xfe:x").decode(),
        "Basic " + base64.b64encode(b"agent-1:" + b"x" * 100_000).decode(),
    ],
)
async def test_anything_else_is_refused_and_never_logged(file: Path, header: str) -> None:
    with structlog.testing.capture_logs() as logs, pytest.raises(WrongCredentials):
        await AgentCredentials(file).authenticate(header, peer="x")
    assert PASSWORD not in str(logs)


async def test_a_verified_password_costs_no_second_hash(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = AgentCredentials(file)
    await known.authenticate(basic("agent-1", PASSWORD), peer="x")

    def never(*_: object) -> bytes:
        raise AssertionError("hashed again")

    monkeypatch.setattr(password_hash, "derive_key", never)
    assert await known.authenticate(basic("agent-1", PASSWORD), peer="x") == "agent-1"


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrong ones are answered in an hour."""
    monkeypatch.setattr(credentials, "WRONG_PASSWORD_DELAY_SECONDS", 3600.0)


@asynccontextmanager
async def wrong_ones(known: AgentCredentials, peer: str, count: int, name: str = "agent-1") -> AsyncIterator[None]:
    """That many different ones are being verified or waiting for their late answer."""
    headers = [basic(name, f"wrong {number}") for number in range(count)]
    tries = [asyncio.create_task(known.authenticate(header, peer=peer)) for header in headers]
    await asyncio.sleep(0)
    try:
        yield
    finally:
        for task in tries:
            task.cancel()
        await asyncio.gather(*tries, return_exceptions=True)


class Gate:
    """Holds up verifications until it is opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._open = threading.Event()
        self.passwords: list[bytes] = []
        self._derive_key = password_hash.derive_key
        monkeypatch.setattr(password_hash, "derive_key", self._wait)

    def _wait(self, password: bytes, parameters: PasswordHash) -> bytes:
        self.passwords.append(password)
        assert self._open.wait(60)
        return self._derive_key(password, parameters)

    def open(self) -> None:
        self._open.set()


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    made = Gate(monkeypatch)
    yield made
    made.open()


async def test_the_late_answers_to_wrong_ones_hold_up_nobody_new(file: Path, late: None) -> None:
    known = AgentCredentials(file)
    async with wrong_ones(known, "192.0.2.66", 3):
        async with asyncio.timeout(60):
            assert await known.authenticate(basic("agent-1", PASSWORD), peer="192.0.2.66") == "agent-1"
            assert await known.authenticate(basic("agent-1", PASSWORD), peer="192.0.2.1") == "agent-1"


async def test_an_address_waits_for_few_at_a_time_and_others_do_not_mind(file: Path, late: None, gate: Gate) -> None:
    known = AgentCredentials(file)
    async with wrong_ones(known, "2001:db8::66", OF_PEER_MAX):
        await eventually(lambda: gate.passwords == [b"wrong 0"])
        waiting = asyncio.create_task(known.authenticate(basic("agent-1", "one more"), peer="2001:db8::66"))
        await asyncio.sleep(0)
        with pytest.raises(TooManyAttempts):
            await known.authenticate(basic("agent-1", "another"), peer="2001:db8::67")  # of the same host
        right = asyncio.create_task(known.authenticate(basic("agent-1", PASSWORD), peer="2001:db8:0:1::1"))
        gate.open()
        assert await right == "agent-1"
        waiting.cancel()


async def test_requests_with_the_same_password_wait_for_one_verification(file: Path, gate: Gate) -> None:
    known = AgentCredentials(file)
    same = [asyncio.create_task(known.authenticate(basic("agent-1", PASSWORD), peer="192.0.2.1")) for _ in range(40)]
    await eventually(lambda: gate.passwords)
    same[0].cancel()  # whoever came first may be gone
    gate.open()
    assert await asyncio.gather(*same[1:]) == ["agent-1"] * 39
    assert len(gate.passwords) == 1


async def test_a_changed_file_is_read_again(file: Path) -> None:
    known = AgentCredentials(file)
    await known.authenticate(basic("agent-1", PASSWORD), peer="x")
    add_agent(file, "agent-1", "another password")
    add_agent(file, "agent-2", PASSWORD)
    with pytest.raises(WrongCredentials):
        await known.authenticate(basic("agent-1", PASSWORD), peer="x")
    assert await known.authenticate(basic("agent-2", PASSWORD), peer="x") == "agent-2"


async def test_a_file_that_became_unusable_leaves_the_earlier_ones(file: Path) -> None:
    known = AgentCredentials(file)
    file.write_text("broken\n")  # noqa: ASYNC240
    with structlog.testing.capture_logs() as logs:
        assert await known.authenticate(basic("agent-1", PASSWORD), peer="x") == "agent-1"
    assert "line 1" in str(logs)
    file.unlink()  # noqa: ASYNC240
    assert await known.authenticate(basic("agent-1", PASSWORD), peer="x") == "agent-1"


def test_the_file_is_the_owners_alone(file: Path) -> None:
    assert file.stat().st_mode & 0o777 == 0o600
    assert PASSWORD not in file.read_text()
    file.chmod(0o640)
    with pytest.raises(ValueError, match="chmod 600"):
        AgentCredentials(file)


@pytest.mark.parametrize(
    "line",
    ["justaword", "a:scrypt$16384$x", "a:md5$16384$AAAA$AAAA", "a b:$scrypt$ln=14,r=8,p=1$AAAA$AAAA",
     "a:$scrypt$ln=20,r=8,p=1$AAAA$AAAA", "a:$scrypt$ln=14,r=8,p=1$?$AAAA"],
)  # fmt: skip
def test_a_malformed_line_is_named_by_number_only(tmp_path: Path, line: str) -> None:
    file = tmp_path / "credentials"
    file.touch(0o600)
    file.write_text(f"# agents\n\n{line}\n")
    with pytest.raises(ValueError, match=r"line 3: not name:scrypt") as error:
        AgentCredentials(file)
    assert line not in str(error.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"credentials_file: .*No such file"):
        AgentCredentials(tmp_path / "none")


@pytest.mark.parametrize(
    ("name", "password", "named"), [("a:b", PASSWORD, "name"), ("", PASSWORD, "name"), ("a", "short", "password")]
)
def test_invalid_name_or_password_is_refused_by_name(tmp_path: Path, name: str, password: str, named: str) -> None:
    with pytest.raises(ValueError, match=f"^{named}: "):
        add_agent(tmp_path / "credentials", name, password)
    assert list(tmp_path.iterdir()) == []
