"""Keystone tokens: what the adapter makes of the middleware's word, and the middleware itself against a stand-in."""

import asyncio
import warnings
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from oslo_config import cfg

from evenkeel.api.identity.caller import IdentityUnavailable, Unauthenticated
from tests.api.identity.keystone_stand_in import StandIn

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # WebOb imports the standard library's cgi
    from evenkeel.api.identity.keystone import REMEMBERED_SECONDS, KeystoneIdentity, open_keystone

SCOPE: dict[str, Any] = {"method": "GET", "path": "/v2/lbaas/pools"}
NOW = 1_800_000_000.0


class Middleware:
    """A WSGI filter that says what it is told to, and counts."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.status = "200 OK"
        self.expires_at = datetime.fromtimestamp(NOW + 3600, UTC).isoformat()
        self.token: dict[str, Any] = {}
        self.failure: Exception | None = None

    def __call__(self, application: Callable[..., Any]) -> Callable[..., Any]:
        def filtered(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
            self.asked.append(environ)
            if self.failure is not None:
                raise self.failure
            if not self.status.startswith("200"):
                start_response(self.status, [("WWW-Authenticate", 'Keystone uri="https://id.example"')])
                return [b"no"]
            environ |= {
                "HTTP_X_IDENTITY_STATUS": "Confirmed",
                "HTTP_X_USER_ID": "u1",
                "HTTP_X_USER_NAME": "Alice",
                "HTTP_X_PROJECT_ID": "p1",
                "HTTP_X_ROLES": "member,reader",
                "keystone.token_info": {"token": {"expires_at": self.expires_at, **self.token}},
            }
            return application(environ, start_response)

        return filtered


class Wall:
    """The system's clock, moved by hand."""

    now = NOW

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def middleware() -> Middleware:
    """Says yes."""
    return Middleware()


@pytest.fixture
def wall() -> Wall:
    """The time of day."""
    return Wall()


@pytest.fixture
def identity(middleware: Middleware, wall: Wall) -> KeystoneIdentity:
    """The adapter around it."""
    return KeystoneIdentity(middleware, now=wall)


def token(value: str) -> dict[bytes, bytes]:
    return {b"x-auth-token": value.encode()}


async def test_the_caller_is_whom_the_middleware_names(identity: KeystoneIdentity, middleware: Middleware) -> None:
    forged = {b"x-user-id": b"root", b"x-roles": b"admin", b"x-identity-status": b"Confirmed"}
    caller = await identity.identify({**forged, **token("t")}, SCOPE)
    assert (caller.user_id, caller.user_name, caller.project_id) == ("u1", "Alice", "p1")
    assert caller.roles == ("member", "reader")
    (environ,) = middleware.asked
    assert (environ["REQUEST_METHOD"], environ["PATH_INFO"]) == ("GET", "/v2/lbaas/pools")


async def test_a_token_is_remembered_for_a_moment(
    identity: KeystoneIdentity, middleware: Middleware, wall: Wall
) -> None:
    for _ in range(5):
        await identity.identify(token("t"), SCOPE)
    assert len(middleware.asked) == 1 and b"t" not in vars(identity)["_remembered"]
    await identity.identify(token("another"), SCOPE)
    assert len(middleware.asked) == 2
    wall.now += REMEMBERED_SECONDS
    middleware.status = "401 Unauthorized"
    with pytest.raises(Unauthenticated):
        await identity.identify(token("t"), SCOPE)


async def test_a_token_is_not_remembered_beyond_its_end(
    identity: KeystoneIdentity, middleware: Middleware, wall: Wall
) -> None:
    middleware.expires_at = datetime.fromtimestamp(NOW + 2, UTC).isoformat().replace("+00:00", "Z")
    await identity.identify(token("t"), SCOPE)
    wall.now += 2.0
    await identity.identify(token("t"), SCOPE)
    assert len(middleware.asked) == 2


@pytest.mark.parametrize("rules", [[], [{"method": "GET", "path": "/**", "service": "load-balancer"}]])
async def test_a_token_with_access_rules_is_queried_for_every_request(
    identity: KeystoneIdentity, middleware: Middleware, rules: list[Any]
) -> None:
    middleware.token = {"application_credential": {"id": "a", "access_rules": rules}}
    for _ in range(3):
        await identity.identify(token("t"), SCOPE)
    assert len(middleware.asked) == 3


async def test_a_refusal_states_where_to_log_in(identity: KeystoneIdentity, middleware: Middleware) -> None:
    middleware.status = "401 Unauthorized"
    with pytest.raises(Unauthenticated) as caught:
        await identity.identify({}, SCOPE)
    assert caught.value.headers == ((b"www-authenticate", b'Keystone uri="https://id.example"'),)


@pytest.mark.parametrize("how", ["503", "raises"])
async def test_keystone_out_of_reach_is_no_refusal(
    identity: KeystoneIdentity, middleware: Middleware, how: str
) -> None:
    middleware.status = "503 Service Unavailable"
    middleware.failure = RuntimeError("token t is in here") if how == "raises" else None
    with pytest.raises(IdentityUnavailable) as caught:
        await identity.identify(token("t"), SCOPE)
    assert str(caught.value) == "the identity service is out of reach"


async def test_a_token_too_long_to_be_one_is_not_passed_on(identity: KeystoneIdentity, middleware: Middleware) -> None:
    await identity.identify(token("t" * 10_000), SCOPE)
    assert "HTTP_X_AUTH_TOKEN" not in middleware.asked[0]


# -- keystonemiddleware itself


@pytest.fixture
async def stand_in() -> AsyncIterator[StandIn]:
    """A stand-in for Keystone."""
    async with StandIn.serving() as server:
        yield server


@pytest.fixture
def validating(stand_in: StandIn, tmp_path: Path) -> KeystoneIdentity:
    """Validation as an operator would configure it, with a short cache."""
    file = tmp_path / "controller.ini"
    file.write_text(stand_in.options(token_cache_time=-1))
    conf = cfg.ConfigOpts()
    conf(["--config-file", str(file)], project="evenkeel")
    return open_keystone(conf)


async def test_a_valid_token_is_taken_and_an_unknown_one_is_not(
    validating: KeystoneIdentity, stand_in: StandIn
) -> None:
    alice = stand_in.issue(project_id="p1", roles=["member", "reader"])
    caller = await validating.identify(token(alice), SCOPE)
    assert (caller.project_id, caller.roles, caller.user_name) == ("p1", ("member", "reader"), "alice")
    with pytest.raises(Unauthenticated):
        await validating.identify(token("nonsense"), SCOPE)
    with pytest.raises(Unauthenticated):
        await validating.identify({}, SCOPE)


async def test_a_revoked_token_ends_with_the_time_it_is_remembered(
    validating: KeystoneIdentity, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    wall = Wall()
    wall.now = datetime.now(UTC).timestamp()
    monkeypatch.setattr(validating, "_now", wall)
    alice = stand_in.issue(project_id="p1", roles=["member"])
    await validating.identify(token(alice), SCOPE)
    stand_in.revoke(alice)
    await validating.identify(token(alice), SCOPE)
    wall.now += REMEMBERED_SECONDS
    with pytest.raises(Unauthenticated):
        await validating.identify(token(alice), SCOPE)


async def test_a_token_for_the_whole_system_has_no_project(validating: KeystoneIdentity, stand_in: StandIn) -> None:
    caller = await validating.identify(token(stand_in.issue(roles=["admin"], system=True)), SCOPE)
    assert (caller.project_id, caller.system_scope, caller.roles) == ("", "all", ("admin",))


async def test_many_validations_at_once_do_not_hold_up_the_loop(
    validating: KeystoneIdentity, stand_in: StandIn
) -> None:
    tokens = [stand_in.issue(project_id=f"p{number}", roles=["member"]) for number in range(30)]
    callers = await asyncio.gather(*(validating.identify(token(item), SCOPE) for item in tokens))
    assert [caller.project_id for caller in callers] == [f"p{number}" for number in range(30)]


async def test_keystone_that_is_gone_is_reported_as_503(validating: KeystoneIdentity, stand_in: StandIn) -> None:
    alice = stand_in.issue(project_id="p1", roles=["member"])
    await stand_in.stop()
    with pytest.raises(IdentityUnavailable):
        await validating.identify(token(alice), SCOPE)
