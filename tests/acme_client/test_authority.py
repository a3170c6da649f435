"""The client of an authority that is slow, wrong or hostile: bounded, and told in words."""

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from evenkeel.acme_client.authority import AcmeAuthority
from evenkeel.core.kit.errors import AcmeAuthorityUnavailable, AcmeOrderUnknown, AcmeRateLimited, AcmeRequestRefused
from evenkeel.core.tls.acme.caa import Issuer
from evenkeel.core.tls.acme.values import AuthorizationStatus, ChallengeMethod, OrderStatus
from evenkeel.core.tls.certificates import PrivateKey
from tests.acme_client.authority_server import TOKEN, AuthorityServer, Response
from tests.acme_client.test_key_pairs import private
from tests.key_managers.authority import LEAF, STRANGER, ec_key

NAMES = ("www.example.org",)
ACCOUNT = private(ec_key())
LIMIT_SECONDS = 60.0


@pytest.fixture
def server() -> Iterator[AuthorityServer]:
    made = AuthorityServer()
    yield made
    made.close()


def client_of(server: AuthorityServer, timeout_seconds: float) -> AcmeAuthority:
    return AcmeAuthority(
        f"{server.root}/directory", contact="a@example.org", ca_file=None, timeout_seconds=timeout_seconds
    )


@pytest.fixture
def authority(server: AuthorityServer) -> Iterator[AcmeAuthority]:
    with contextlib.closing(client_of(server, LIMIT_SECONDS)) as made:
        yield made


async def test_an_order_is_made_read_and_answered(authority: AcmeAuthority, server: AuthorityServer) -> None:
    made = await authority.order(ACCOUNT, NAMES)
    assert (made.url, made.status) == (f"{server.root}/order/1", OrderStatus.PENDING)
    read = await authority.read(ACCOUNT, made.url)
    (one,) = read.authorizations
    assert (one.name, one.token, one.status, one.unanswered) == (
        "www.example.org",
        TOKEN,
        AuthorizationStatus.PENDING,
        True,
    )
    assert one.key_authorization.startswith(f"{TOKEN}.") and len(one.key_authorization) == len(TOKEN) + 44
    await authority.answer(ACCOUNT, one)
    await authority.finalize(ACCOUNT, read, private(ec_key()), NAMES)
    # Each thread of the client registers the account once, whenever it is used first.
    assert [one for one in server.requests if one in ("POST /challenge", "POST /finalize")] == [
        "POST /challenge",
        "POST /finalize",
    ]


async def test_the_challenge_is_that_of_the_method_of_each_name(
    authority: AcmeAuthority, server: AuthorityServer
) -> None:
    url = f"{server.root}/order/1"
    (by_dns,) = (await authority.read(ACCOUNT, url, dns_names={"www.example.org"})).authorizations
    assert by_dns.method is ChallengeMethod.DNS_01
    await authority.answer(ACCOUNT, by_dns)
    (by_http,) = (await authority.read(ACCOUNT, url, dns_names={"*.www.example.org"})).authorizations
    assert by_http.method is ChallengeMethod.HTTP_01
    server.responses["/authorization"] = Response({**server.authorization, "wildcard": True})
    (wildcard,) = (await authority.read(ACCOUNT, url, dns_names={"*.www.example.org"})).authorizations
    assert (wildcard.name, wildcard.method) == ("*.www.example.org", ChallengeMethod.DNS_01)
    challenges = [each for each in server.authorization["challenges"] if each["type"] == "http-01"]  # type: ignore[index]
    server.responses["/authorization"] = Response({**server.authorization, "challenges": challenges})
    with pytest.raises(AcmeRequestRefused, match=r"does not offer dns-01 for www\.example\.org"):
        await authority.read(ACCOUNT, url, dns_names={"www.example.org"})


async def test_an_account_that_exists_is_used(authority: AcmeAuthority, server: AuthorityServer) -> None:
    server.responses["/account"] = Response({}, 200, (("Location", f"{server.root}/account/1"),))
    assert (await authority.order(ACCOUNT, NAMES)).url


async def test_an_order_of_another_authority_is_unknown_and_not_asked_for(
    authority: AcmeAuthority, server: AuthorityServer
) -> None:
    with pytest.raises(AcmeOrderUnknown):
        await authority.read(ACCOUNT, "https://other.example/order/1")
    assert server.requests == []


@pytest.mark.parametrize("status", [404, 410])
async def test_an_order_that_is_gone_is_unknown(authority: AcmeAuthority, server: AuthorityServer, status: int) -> None:
    server.responses["/order/1"] = Response({"type": "urn:ietf:params:acme:error:malformed", "detail": "gone"}, status)
    with pytest.raises(AcmeOrderUnknown):
        await authority.read(ACCOUNT, f"{server.root}/order/1")


async def test_a_rate_limit_is_told_with_the_delay_that_the_authority_wants(
    authority: AcmeAuthority, server: AuthorityServer
) -> None:
    problem = {"type": "urn:ietf:params:acme:error:rateLimited", "detail": "too many orders"}
    server.responses["/new-order"] = Response(problem, 429, (("Retry-After", "120"),))
    with pytest.raises(AcmeRequestRefused, match="too many orders") as refused:
        await authority.order(ACCOUNT, NAMES)
    assert refused.value.retry_after_seconds == 120.0
    assert isinstance(refused.value, AcmeRateLimited)


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [("Fri, 01 Jan 2100 00:00:00 GMT", 1e9, 1e10), ("Thu, 01 Jan 1970 00:00:00 GMT", 0, 0), ("soon", 0, 0)],
)
async def test_a_delay_may_be_a_date(
    authority: AcmeAuthority, server: AuthorityServer, text: str, least: float, most: float
) -> None:
    problem = {"type": "urn:ietf:params:acme:error:rateLimited", "detail": "too many orders"}
    server.responses["/new-order"] = Response(problem, 429, (("Retry-After", text),))
    with pytest.raises(AcmeRateLimited) as refused:
        await authority.order(ACCOUNT, NAMES)
    assert least <= refused.value.retry_after_seconds <= most


async def test_external_account_binding_without_a_key_is_refused(
    authority: AcmeAuthority, server: AuthorityServer
) -> None:
    usual = dict.fromkeys(("newNonce", "newAccount", "newOrder"), f"{server.root}/x")
    server.responses["/directory"] = Response({**usual, "meta": {"externalAccountRequired": True}})
    with pytest.raises(AcmeRequestRefused, match="External Account Binding"):
        await authority.order(ACCOUNT, NAMES)


@pytest.mark.parametrize(
    ("path", "response"),
    [
        ("/directory", Response(b"not JSON")),
        ("/directory", Response([])),
        ("/directory", Response({})),
        ("/directory", Response({"newNonce": 1, "newAccount": [], "newOrder": None})),
        ("/directory", Response(dict.fromkeys(("newNonce", "newAccount", "newOrder"), "https://other.example/"))),
        ("/directory", Response({}, 302, (("Location", "http://169.254.169.254/"),))),
        ("/directory", Response(b" " * 600_000)),
        ("/nonce", Response({}, 500)),
        ("/account", Response({}, 201)),
        ("/account", Response({"type": "urn:ietf:params:acme:error:serverInternal", "detail": "down"}, 500)),
        ("/order/1", Response(b"")),
        ("/order/1", Response([[]])),
        ("/order/1", Response({"status": "surprising"})),
        ("/order/1", Response({"status": "pending", "authorizations": "x", "finalize": "x"})),
        ("/order/1", Response(b"[" * 200_000)),
        ("/authorization", Response({"status": "pending"})),
        ("/authorization", Response({"status": "pending", "identifier": 7, "challenges": 7})),
    ],
)
async def test_a_wrong_answer_counts_as_an_outage(
    authority: AcmeAuthority, server: AuthorityServer, path: str, response: Response
) -> None:
    server.responses[path] = response
    with pytest.raises(AcmeAuthorityUnavailable):
        await authority.read(ACCOUNT, f"{server.root}/order/1")
    server.responses.clear()
    assert (await authority.read(ACCOUNT, f"{server.root}/order/1")).authorizations


@pytest.mark.parametrize("token", ["../../etc/passwd", "a b", "a'b", "ü", ""])
async def test_a_token_with_other_characters_is_refused(
    authority: AcmeAuthority, server: AuthorityServer, token: str
) -> None:
    challenge: dict[str, Any] = {"type": "http-01", "url": f"{server.root}/challenge", "status": "pending"}
    server.responses["/authorization"] = Response(
        {**server.authorization, "challenges": [{**challenge, "token": token}]}
    )
    with pytest.raises((AcmeAuthorityUnavailable, AcmeRequestRefused)):
        await authority.read(ACCOUNT, f"{server.root}/order/1")


HEAD = b"HTTP/1.1 200 OK\r\n"
ENDLESS = {
    "head": (HEAD, b"X-A: b\r\n"),
    "line_of_the_head": (HEAD + b"X-A: ", b"b"),
    "body": (HEAD + b"Content-Length: 1000000\r\n\r\n", b" " * 9000),
    "length_of_a_part": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"0"),
}
"""What is sent at first, and then again and again, by the part of a response that does not end."""


@pytest.mark.parametrize("part", ENDLESS)
async def test_an_answer_that_does_not_end_is_given_up_and_its_connection_ends(
    server: AuthorityServer, part: str
) -> None:
    ended = threading.Event()

    def drip(handler: BaseHTTPRequestHandler) -> None:
        first, again = ENDLESS[part]
        handler.wfile.write(first)
        handler.connection.settimeout(0.5)
        with contextlib.suppress(OSError):
            while True:
                handler.wfile.write(again)
                handler.wfile.flush()
                with contextlib.suppress(TimeoutError):
                    if not handler.connection.recv(1):
                        break
        handler.close_connection = True
        ended.set()

    server.responses["/directory"] = drip
    with contextlib.closing(client_of(server, 2.0)) as impatient:
        with pytest.raises(AcmeAuthorityUnavailable, match="not complete after 2 s"):
            await impatient.order(ACCOUNT, NAMES)
        assert await asyncio.to_thread(ended.wait, LIMIT_SECONDS)
        server.responses.clear()
        assert (await impatient.order(ACCOUNT, NAMES)).url


async def test_a_strangers_chain_is_refused_with_the_reason(authority: AcmeAuthority, server: AuthorityServer) -> None:
    server.responses["/order/1"] = Response({**server.order, "status": "valid", "certificate": f"{server.root}/chain"})
    order = await authority.read(ACCOUNT, f"{server.root}/order/1")
    for pem, reason in ((STRANGER.pem, "another key"), (LEAF.pem + STRANGER.pem, "has not signed")):
        server.responses["/chain"] = Response(pem)
        with pytest.raises(AcmeRequestRefused, match=reason):
            await authority.download(ACCOUNT, order, private(LEAF.key), ("www.example.org", "*.example.org"))


async def test_an_authority_that_nobody_runs_is_unavailable() -> None:
    gone = AcmeAuthority("http://127.0.0.1:1/directory", contact="", ca_file=None, timeout_seconds=LIMIT_SECONDS)
    with pytest.raises(AcmeAuthorityUnavailable, match="cannot be reached"):
        await gone.order(PrivateKey(ACCOUNT.reveal()), NAMES)
    gone.close()


async def test_the_authoritys_names_are_those_of_its_directory_or_the_configured_ones(
    authority: AcmeAuthority, server: AuthorityServer
) -> None:
    assert (await authority.issuer(ACCOUNT)).identities == ()
    usual = {"newNonce": "nonce", "newAccount": "account", "newOrder": "new-order"}
    urls = {key: f"{server.root}/{name}" for key, name in usual.items()}
    server.responses["/directory"] = Response({**urls, "meta": {"caaIdentities": ["CA.example."]}})
    for configured, named in (((), ("ca.example",)), (("own.example",), ("own.example",))):
        other = AcmeAuthority(
            f"{server.root}/directory",
            contact="",
            ca_file=None,
            timeout_seconds=LIMIT_SECONDS,
            caa_identities=configured,
        )
        assert await other.issuer(ACCOUNT) == Issuer(identities=named, account_url=f"{server.root}/account/1")
        other.close()
