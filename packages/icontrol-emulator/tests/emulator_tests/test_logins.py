from __future__ import annotations

import pytest

from emulator_tests.client import Client, basic
from emulator_tests.conftest import FakeClock
from icontrol_emulator import Emulator
from icontrol_emulator.errors import RestError
from icontrol_emulator.rest.tokens import TokenBook

LOGIN = "/mgmt/shared/authn/login"
TOKENS = "/mgmt/shared/authz/tokens"


async def login(device: Client, user: str = "bob", password: str = "secret") -> str:
    body = {"username": user, "password": password, "loginProviderName": "tmos"}
    return str((await device.post(LOGIN, body))["token"]["token"])


async def test_login_answer(device: Client) -> None:
    shown = await device.post(LOGIN, {"username": "bob", "password": "secret", "loginProviderName": "tmos"})
    token = shown["token"]
    assert len(token["token"]) == 26
    assert (token["name"], token["userName"], token["timeout"]) == (token["token"], "bob", 1200)
    assert token["expirationMicros"] - token["lastUpdateMicros"] == 1_200_000_000
    assert token["selfLink"].endswith(f"/shared/authz/tokens/{token['token']}")


async def test_token_is_a_credential_until_deleted(device: Client) -> None:
    token = await login(device)
    device.headers = {"X-F5-Auth-Token": token}
    await device.get("ltm/pool")
    shown = await device.patch(f"{TOKENS}/{token}", {"timeout": "36000"})
    assert shown["timeout"] == 36000
    too_long = await device.send("PATCH", f"{TOKENS}/{token}", {"timeout": 36001})
    assert (too_long.status, too_long.message) == (406, "Auth-token absolute timeout (36000 seconds) exceeded")
    assert (await device.send("DELETE", f"{TOKENS}/{token}")).status == 200
    gone = await device.send("GET", "ltm/pool")
    assert (gone.status, gone.message) == (401, "X-F5-Auth-Token does not exist.")
    assert gone.document["kind"] == ":resterrorresponse"


async def test_wrong_password_in_basic_auth_is_an_html_page(device: Client) -> None:
    device.headers = basic("admin", "wrong")
    answer = await device.send("GET", "ltm/pool")
    assert (answer.status, answer.content_type) == (401, "text/html")
    assert "401 F5 Authorization Required" in answer.text


async def test_missing_and_bad_credentials_are_json(device: Client) -> None:
    device.headers = {}
    answer = await device.send("GET", "ltm/pool")
    assert answer.status == 401
    assert answer.message.startswith("Authorization failed: no user authentication header or token detected. Uri:")
    answer = await device.send("POST", LOGIN, {"username": "bob", "password": "x", "loginProviderName": "tmos"})
    assert (answer.status, answer.message) == (401, "Authentication failed.")


async def test_users_made_over_rest_can_log_in(device: Client) -> None:
    user = await device.post("auth/user", {"name": "eve", "password": "pw", "partition-access": "all-partitions"})
    assert "password" not in user
    await login(device, "eve", "pw")
    await device.patch("auth/user/eve", {"password": "other"})
    assert (await device.send("POST", LOGIN, {"username": "eve", "password": "pw"})).status == 401


async def test_tokens_of_a_user_are_limited(device: Client, emulator: Emulator) -> None:
    for _ in range(100):
        emulator.devices["bigip-1"].tokens.issue("bob", "127.0.0.1")
    answer = await device.send("POST", LOGIN, {"username": "bob", "password": "secret"})
    assert (answer.status, "maximum active login tokens" in answer.message) == (400, True)
    for _ in range(101):
        emulator.devices["bigip-1"].tokens.issue("admin", "127.0.0.1")


async def test_user_drops_all_own_tokens(device: Client, emulator: Emulator) -> None:
    await login(device)
    await login(device, "admin", "admin")
    device.headers = basic("bob", "secret")
    await device.send("DELETE", TOKENS)
    assert len(emulator.devices["bigip-1"].tokens) == 1


def test_life_is_counted_from_the_start(clock: FakeClock) -> None:
    book = TokenBook(clock)
    token = book.issue("bob", "127.0.0.1")
    clock.now += 1000
    book.prolong(token.name, 1300)
    clock.now += 299
    assert book.user_of(token.name) == "bob"
    clock.now += 1
    with pytest.raises(RestError, match="has expired"):
        book.user_of(token.name)


def test_expired_tokens_count_on_devices_that_never_free_them(clock: FakeClock) -> None:
    book = TokenBook(clock)
    book.frees_expired = False
    for _ in range(100):
        book.issue("bob", "127.0.0.1")
    deleted = book.of("bob")[0]
    book.end(deleted.name)
    clock.now += 1201
    book.issue("bob", "127.0.0.1")
    with pytest.raises(RestError, match="maximum active login tokens"):
        book.issue("bob", "127.0.0.1")
    book.forget_everything()
    book.issue("bob", "127.0.0.1")
