"""Who is let in by configuration, and a real server with TLS that tells who is at the other end."""

import ssl
from pathlib import Path

import aiohttp
import pytest
from structlog.testing import capture_logs

from evenkeel.api.identity.headers import TrustedHeaders
from evenkeel.api.identity.none import NoAuthentication
from evenkeel.api.identity.password_file import PasswordFileIdentity
from evenkeel.cmd.controllers.admission import check_exposure, open_admission
from evenkeel.cmd.options.server_tls import api_tls_context
from tests.cmd.apiserver import Certificates, load, serving

ALICE = {"X-User-Id": "alice", "X-Project-Id": "p1", "X-Roles": "member"}


def test_the_kind_of_identity_is_configured(tmp_path: Path) -> None:
    assert isinstance(open_admission(load(tmp_path, "")).identity, NoAuthentication)
    gateway = open_admission(load(tmp_path, "[identity]\nkind = trusted_headers\n"))
    assert isinstance(gateway.identity, TrustedHeaders)
    users = tmp_path / "users"
    users.touch(0o600)
    text = f"[identity]\nkind = password_file\npassword_file = {users}\n"
    assert isinstance(open_admission(load(tmp_path, text)).identity, PasswordFileIdentity)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[identity]\nkind = magic\n", r"ini:2: \[identity\] kind: "),
        ("[identity]\nkind = password_file\npassword_file = /nowhere\n", r"^identity.password_file: /nowhere: No such"),
        ("[oslo_policy]\npolicy_file = /nowhere.yaml\n", r"^oslo_policy.policy_file: .*no such file"),
        ("[api]\nssl_key_file = /nowhere\n", r"^api.ssl_cert_file: "),
        ("[api]\nssl_cert_file = /nowhere\n", r"^api.ssl_cert_file, .*No such file"),
        ("[api]\nrate_limit = -1\n", r"ini:2: \[api\] rate_limit: "),
    ],
)
def test_a_bad_configuration_is_refused_by_name(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        open_admission(load(tmp_path, text))


@pytest.mark.parametrize(
    ("kind", "api", "told"),
    [
        ("none", "", "there is no authentication"),
        ("trusted_headers", "", "ssl_client_ca_file"),
        ("none", "allow_unauthenticated = true\n", None),
        ("trusted_headers", "ssl_client_ca_file = /some/ca.pem\n", None),
        ("password_file", "", None),
        ("keystone", "", None),
    ],
)
def test_an_address_beyond_this_machine_needs_an_identity_that_can_be_relied_on(
    tmp_path: Path, kind: str, api: str, told: str | None
) -> None:
    conf = load(tmp_path, f"[identity]\nkind = {kind}\n[api]\nbind_host = 0.0.0.0\n{api}")
    check_exposure(load(tmp_path, f"[identity]\nkind = {kind}\n[api]\n{api}"))
    if told:
        with pytest.raises(ValueError, match=told):
            check_exposure(conf)
    else:
        check_exposure(conf)


def test_passwords_in_clear_are_warned_of(tmp_path: Path) -> None:
    with capture_logs() as logs:
        check_exposure(load(tmp_path, "[identity]\nkind = password_file\n[api]\nbind_host = 0.0.0.0\n"))
    assert [entry["log_level"] for entry in logs] == ["warning"]


# -- a real server


async def status(url: str, headers: dict[str, str], context: ssl.SSLContext | bool = True) -> int:
    async with aiohttp.ClientSession() as session, session.get(url, headers=headers, ssl=context) as answer:
        return answer.status


GATEWAY = "[identity]\nkind = trusted_headers\ngateway_names = gateway.example\n"


async def test_with_mutual_tls_only_the_gateway_speaks_for_others(tmp_path: Path) -> None:
    files = Certificates(tmp_path)
    text = (
        f"{GATEWAY}[api]\nssl_cert_file = {files.cert}\nssl_key_file = {files.key}\nssl_client_ca_file = {files.ca}\n"
    )
    async with serving(tmp_path, text) as (address, _):
        url = f"https://{address}/v2/lbaas/pools"
        assert await status(url, ALICE, files.client("gateway.example")) == 200
        assert await status(url, {}, files.client("gateway.example")) == 401
        # the loopback address is no excuse for a certificate with another name
        assert await status(url, ALICE, files.client("somebody.example")) == 403
        for stranger in (files.client(None), files.client("gateway.example", known=False)):
            with pytest.raises(aiohttp.ClientError):
                await status(url, ALICE, stranger)


async def test_forwarded_address_changes_no_trust_in_headers(tmp_path: Path) -> None:
    async with serving(tmp_path, "[identity]\nkind = trusted_headers\n") as (address, _):
        url = f"http://{address}/v2/lbaas/pools"
        assert await status(url, ALICE) == 200
        assert await status(url, {**ALICE, "X-Forwarded-For": "192.0.2.7"}) == 200


async def test_a_renewed_certificate_is_used_for_new_connections(tmp_path: Path) -> None:
    files = Certificates(tmp_path)
    text = f"[api]\nssl_cert_file = {files.cert}\nssl_key_file = {files.key}\n"
    async with serving(tmp_path, text) as (address, server):
        url = f"https://{address}/healthz"
        assert await status(url, {}, files.client(None)) == 200
        renewed = Certificates(tmp_path)
        tls = api_tls_context(load(tmp_path, text))
        assert tls is not None
        server.use_tls(tls)
        assert await status(url, {}, renewed.client(None)) == 200
        with pytest.raises(aiohttp.ClientError):
            await status(url, {}, files.client(None))


async def test_https_is_served_without_client_certificates(tmp_path: Path) -> None:
    files = Certificates(tmp_path)
    text = f"[api]\nssl_cert_file = {files.cert}\nssl_key_file = {files.key}\n"
    async with serving(tmp_path, text) as (address, _):
        assert await status(f"https://{address}/v2/lbaas/pools", {}, files.client(None)) == 200
