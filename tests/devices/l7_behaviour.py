"""What clients get to see of L7 policies, whatever the device: each driver's tests run this unchanged.

A driver's tests subclass :class:`L7Behaviour` and give a fixture ``site``: a device with a data plane.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from evenkeel.core.devices.service import ServiceDefinition, ServiceL7Policy, ServiceL7Rule, ServicePool
from evenkeel.core.resources.model import SessionPersistence
from tests.certificates import by_sha256, referring
from tests.devices.services import listener, policy, rule, service
from tests.devices.tls_behaviour import (
    LIMIT_SECONDS,
    MEMBER,
    NAMED,
    Clients,
    Member,
    Site,
    pool_of,
    problems,
    running,
    tls_listener,
    tls_pool_of,
)

DEFAULT, SHOP, IMAGES = "default", "shop", "images"
HOST = "Host: www.example.org"
Case = tuple[ServiceL7Rule, str, tuple[str, ...], bool]
"""A rule, a request's target and headers, and whether it matches."""


def to_pool(place: int, number: int, *rules: ServiceL7Rule, **changes: Any) -> ServiceL7Policy:
    return policy(place, *rules, action="REDIRECT_TO_POOL", redirect_pool_id=f"pool-{number}", **changes)


def away(place: int, *rules: ServiceL7Rule, url: str = "https://new.test/%20x?a=b", **changes: Any) -> ServiceL7Policy:
    return policy(place, *rules, action="REDIRECT_TO_URL", redirect_url=url, **changes)


def moved(place: int, one: ServiceL7Rule, prefix: str, **changes: Any) -> ServiceL7Policy:
    return policy(place, one, action="REDIRECT_PREFIX", redirect_prefix=prefix, **changes)


def host(compare_type: str, value: str, **changes: Any) -> ServiceL7Rule:
    return rule(type="HOST_NAME", compare_type=compare_type, value=value, **changes)


def path(compare_type: str, value: str, **changes: Any) -> ServiceL7Rule:
    return rule(type="PATH", compare_type=compare_type, value=value, **changes)


def file_type(compare_type: str, value: str, **changes: Any) -> ServiceL7Rule:
    return rule(type="FILE_TYPE", compare_type=compare_type, value=value, **changes)


def header(compare_type: str, value: str, **changes: Any) -> ServiceL7Rule:
    return rule(**{"type": "HEADER", "key": "X-Kind", "compare_type": compare_type, "value": value, **changes})


def cookie(compare_type: str, value: str, **changes: Any) -> ServiceL7Rule:
    return rule(**{"type": "COOKIE", "key": "kind", "compare_type": compare_type, "value": value, **changes})


def any_request() -> ServiceL7Rule:
    return rule(99, value="/")


PATHS: tuple[Case, ...] = (
    (path("EQUAL_TO", "/a"), "/a", (), True),
    (path("EQUAL_TO", "/a"), "/a?b", (), True),
    (path("EQUAL_TO", "/a"), "/A", (), False),
    (path("EQUAL_TO", "/%2e"), "/%2e", (), True),
    (path("EQUAL_TO", "/%2e"), "/%2E", (), False),
    (path("STARTS_WITH", "/b/"), "/b/c", (), True),
    (path("STARTS_WITH", "/b/"), "/b", (), False),
    (path("ENDS_WITH", "/d"), "/c/d?e", (), True),
    (path("ENDS_WITH", "/d"), "/d/c", (), False),
    (path("CONTAINS", "e*"), "/de*f", (), True),
    (path("CONTAINS", "e*"), "/deef", (), False),
    (path("CONTAINS", "?"), "/a?b", (), False),
    (path("STARTS_WITH", "/b/", invert=True), "/b/c", (), False),
    (path("STARTS_WITH", "/b/", invert=True), "/c", (), True),
    (file_type("EQUAL_TO", "jpg"), "/a/b.jpg?c.png", (), True),
    (file_type("EQUAL_TO", ".jpg"), "/a/b.jpg", (), True),
    (file_type("EQUAL_TO", "jpg"), "/bjpg", (), False),
    (file_type("EQUAL_TO", "jpg"), "/b.JPG", (), False),
    (host("EQUAL_TO", "Shop.Test"), "/", ("Host: shop.TEST",), True),
    (host("EQUAL_TO", "shop.test"), "/", ("Host: shop.test:8080",), True),
    (host("EQUAL_TO", "shop.test"), "/", ("Host: shop.test.example",), False),
    (host("STARTS_WITH", "shop."), "/", ("Host: SHOP.test",), True),
    (host("ENDS_WITH", ".test"), "/", ("Host: shop.test:80",), True),
    (host("CONTAINS", "op.t"), "/", ("Host: shop.test",), True),
    (host("CONTAINS", "80"), "/", ("Host: shop.test:80",), False),
)
OTHERS: tuple[Case, ...] = (
    (path("REGEX", r"^/[a-z]{2}/\d+$"), "/ab/12", (), True),
    (path("REGEX", r"^/[a-z]{2}/\d+$"), "/ab/12x", (), False),
    (path("REGEX", r"\bshop\b"), "/my-shop/x", (), True),
    (path("REGEX", r"\bshop\b"), "/workshops", (), False),
    (path("REGEX", r"^/a(b|c)?[^d]\.html$", invert=True), "/abe.html", (), False),
    (path("REGEX", r"^/A"), "/a", (), False),
    (path("CONTAINS", "[exit]$x"), "/[exit]$x{", (), True),
    (file_type("REGEX", "(jpg|png)$"), "/a.png", (), True),
    (file_type("REGEX", "(jpg|png)$"), "/a.png/", (), False),
    (host("REGEX", r"^SHOP\.test$"), "/", ("Host: shop.TEST:80",), True),
    (host("STARTS_WITH", "shop", invert=True), "/", ("Host: shop.test",), False),
    (host("STARTS_WITH", "shop", invert=True), "/", ("Host: work.test",), True),
    (header("EQUAL_TO", "b"), "/", ("x-kind: b",), True),
    (header("EQUAL_TO", "b"), "/", ("X-Kind: B",), False),
    (header("EQUAL_TO", "b"), "/", ("X-Kind: a, b ,c",), True),
    (header("EQUAL_TO", "b"), "/", ("X-Kind: a", "X-Kind: b"), True),
    (header("EQUAL_TO", "b"), "/", ('X-Kind: "a, b"',), False),
    (header("CONTAINS", "b, c"), "/", ('X-Kind: a, "b, c"',), True),
    (header("CONTAINS", "b, c"), "/", ("X-Kind: b, c",), False),
    (header("CONTAINS", '"of shop"'), "/", ("X-Kind: one of shops",), True),
    (header("STARTS_WITH", "one of"), "/", ("X-Kind: one of shops",), True),
    (header("ENDS_WITH", "{$x}"), "/", ("X-Kind: [y]{$x}",), True),
    (header("REGEX", r"^[ab]+ c$"), "/", ("X-Kind: d, abba c",), True),
    (header("EQUAL_TO", "b"), "/", (), False),
    (header("EQUAL_TO", "b", invert=True), "/", (), True),
    (header("EQUAL_TO", "b", invert=True), "/", ("X-Kind: a",), True),
    (header("EQUAL_TO", "b", invert=True), "/", ("X-Kind: a, b",), False),
    (cookie("ENDS_WITH", "shop"), "/", ("Cookie: a=b; kind=my-shop",), True),
    (cookie("ENDS_WITH", "shop"), "/", ("Cookie: other=my-shop",), False),
    (cookie("EQUAL_TO", "shop"), "/", ("Cookie: KIND=shop",), False),
    (cookie("EQUAL_TO", "shop"), "/", ("Cookie: kind=a; kind=shop",), True),
    (cookie("EQUAL_TO", "shop"), "/", ("Cookie: a=kind=shop",), False),
    (cookie("CONTAINS", "="), "/", ("Cookie: kind=a=b",), True),
    (cookie("EQUAL_TO", "shop", invert=True), "/", (), True),
    (rule(type="SSL_CONN_HAS_CERT", compare_type="EQUAL_TO", value="True"), "/", (), False),
    (rule(type="SSL_VERIFY_RESULT", compare_type="EQUAL_TO", value="0"), "/", (), False),
    (rule(type="SSL_DN_FIELD", key="CN", value="a", invert=True), "/", (), True),
)


class Response:
    """What a client got. ``status`` 0: it was not served."""

    def __init__(self, head: str = "", body: str = "") -> None:
        self.head, self.body = head, body
        self.status = int(head.split()[1]) if head else 0

    def header(self, name: str) -> str:
        lines = (line.partition(":") for line in self.head.split("\r\n")[1:])
        return next((value.strip() for found, _, value in lines if found.lower() == name.lower()), "")

    @property
    def outcome(self) -> Any:
        """The member that answered, else the status, with where to go."""
        if self.status == 200:
            return self.body
        return (self.status, self.header("Location")) if self.header("Location") else self.status


class Connection:
    """A client's connection, for one request or several."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def ask(self, target: str, *headers: str, last: bool = False) -> Response:
        """One request. Those without a Host header get one."""
        lines = [f"GET {target} HTTP/1.1", *headers]
        lines += [] if any(each.startswith("Host:") for each in headers) else [HOST]
        lines += ["Connection: close"] if last else []
        self._writer.write("\r\n".join((*lines, "", "")).encode())
        try:
            head = (await self._reader.readuntil(b"\r\n\r\n")).decode()
        except (asyncio.IncompleteReadError, OSError):
            return Response()
        response = Response(head.removesuffix("\r\n\r\n"))
        if length := int(response.header("Content-Length") or 0):
            response.body = (await self._reader.readexactly(length)).decode()
        return response


class L7Behaviour:
    """A fixture ``site`` is to be given."""

    @pytest.fixture
    def clients(self, site: Site, tmp_path: Path) -> Clients:
        return Clients(site, tmp_path)

    @pytest.fixture
    async def members(self) -> AsyncIterator[tuple[Member, ...]]:
        async with contextlib.AsyncExitStack() as stack:
            yield tuple([await stack.enter_async_context(running(Member(name))) for name in (DEFAULT, SHOP, IMAGES)])

    # -- tools

    @contextlib.asynccontextmanager
    async def connected(self, site: Site, **tls: Any) -> AsyncIterator[Connection]:
        """A connection of its own."""
        async with asyncio.timeout(LIMIT_SECONDS):
            reader, writer = await asyncio.open_connection(*site.place(443 if tls else 80), **tls)
            try:
                yield Connection(reader, writer)
            finally:
                writer.transport.abort()

    async def got(self, site: Site, target: str, *headers: str) -> Any:
        """What came of one request."""
        async with self.connected(site) as connection:
            return (await connection.ask(target, *headers, last=True)).outcome

    async def apply(self, site: Site, definition: ServiceDefinition) -> None:
        outcome = await site.apply(referring(definition, NAMED), by_sha256(NAMED))
        assert not problems(outcome)

    async def serve(
        self,
        site: Site,
        members: tuple[Member, ...],
        *policies: ServiceL7Policy,
        pools: tuple[ServicePool, ...] | None = None,
        revision: int = 1,
        **changes: Any,
    ) -> None:
        """A listener with these policies, and pools of a member each, of which the first is the default."""
        each = pools or tuple(pool_of(one, id=f"pool-{number}") for number, one in enumerate(members, start=1))
        made = listener(l7policies=policies, **changes)
        await self.apply(site, service(revision=revision, listeners=(made,), pools=each))

    # -- behaviour

    async def test_the_first_policy_that_matches_decides_whatever_it_does(
        self, site: Site, members: tuple[Member, ...]
    ) -> None:
        rules = {
            "shop": to_pool(1, 2, rule(value="/shop")),
            "deny": policy(2, rule(value="/shop/secret")),
            "away": away(3, rule(value="/old")),
            "moved": policy(
                4,
                rule(value="/mo"),
                action="REDIRECT_PREFIX",
                redirect_prefix="https://new.test",
                redirect_http_code=307,
            ),
            "last": to_pool(5, 3, rule(value="/"), file_type("EQUAL_TO", "jpg", id="rule-2")),
        }
        await self.serve(site, members, *rules.values())
        assert await self.got(site, "/") == DEFAULT
        assert await self.got(site, "/shop/secret") == SHOP
        assert await self.got(site, "/a/b.jpg") == IMAGES
        assert await self.got(site, "/a/bjpg") == DEFAULT
        assert await self.got(site, "/old/b.jpg") == (302, "https://new.test/%20x?a=b")
        assert await self.got(site, "/move?x=1") == (307, "https://new.test/move?x=1")

        await self.serve(site, members, rules["deny"], rules["shop"], rules["last"], revision=2)
        assert await self.got(site, "/shop/secret") == 403
        assert await self.got(site, "/shop/open") == SHOP
        assert await self.got(site, "/old") == DEFAULT

        await self.serve(site, members, rules["shop"], rules["away"], revision=3)
        assert await self.got(site, "/shop/secret") == SHOP
        assert await self.got(site, "/a.jpg") == DEFAULT
        assert await self.got(site, "/old") == (302, "https://new.test/%20x?a=b")

        await self.serve(site, members, revision=4)
        assert await self.got(site, "/shop/secret") == DEFAULT

    async def test_redirects_have_the_code_that_was_requested(self, site: Site, members: tuple[Member, ...]) -> None:
        codes = (301, 302, 303, 307, 308)
        policies = [
            away(code, rule(value=f"/{code}"), url=f"http://a.test/{code}", redirect_http_code=code) for code in codes
        ]
        prefix = moved(1, rule(value="/"), "http://b.test/[x]$y")
        await self.serve(site, members, *policies, prefix)
        for code in codes:
            assert await self.got(site, f"/{code}") == (code, f"http://a.test/{code}")
        assert await self.got(site, "/c?d=[e]") == (302, "http://b.test/[x]$y/c?d=[e]")

    async def test_hosts_paths_and_file_types(self, site: Site, members: tuple[Member, ...]) -> None:
        """One policy at a time, as a device may have another way for these."""
        for revision, (one, target, headers, matches) in enumerate(PATHS, start=1):
            await self.serve(site, members, to_pool(1, 2, one), revision=revision)
            expected = SHOP if matches else DEFAULT
            assert await self.got(site, target, *headers) == expected, (one, target, headers)

    async def test_every_type_and_comparison(self, site: Site, members: tuple[Member, ...]) -> None:
        """A policy for each, of which a request may reach one."""
        cases = (*PATHS, *OTHERS)
        policies = [
            policy(number, header("EQUAL_TO", str(number), key="X-Case", id="rule-0"), one)
            for number, (one, *_) in enumerate(cases)
        ]
        await self.serve(site, members, *policies)
        for number, (one, target, headers, matches) in enumerate(cases):
            expected = 403 if matches else DEFAULT
            assert await self.got(site, target, *headers, f"X-Case: {number}") == expected, (one, target, headers)

    async def test_policy_or_pool_that_is_admin_down_matches_nothing(
        self, site: Site, members: tuple[Member, ...]
    ) -> None:
        pools = tuple(
            pool_of(one, id=f"pool-{number}", admin_state_up=number != 3) for number, one in enumerate(members, start=1)
        )
        policies = (
            policy(1, any_request(), admin_state_up=False),
            policy(2, rule(value="/", admin_state_up=False)),
            to_pool(3, 3, any_request()),
            to_pool(4, 2, any_request(), rule(2, value="/never", admin_state_up=False)),
        )
        await self.serve(site, members, *policies, pools=pools)
        assert await self.got(site, "/x") == SHOP

    async def test_all_rules_of_a_policy_must_match(self, site: Site, members: tuple[Member, ...]) -> None:
        await self.serve(
            site, members, to_pool(1, 2, rule(1, value="/a"), file_type("EQUAL_TO", "x"), host("EQUAL_TO", "a.test"))
        )
        assert await self.got(site, "/a/b.x", "Host: a.test") == SHOP
        assert await self.got(site, "/a/b.y", "Host: a.test") == DEFAULT
        assert await self.got(site, "/a/b.x", "Host: b.test") == DEFAULT

    @pytest.mark.parametrize("more", [(), (policy(9, rule(value="/deny")),)], ids=["pools only", "with an answer"])
    async def test_each_request_of_a_connection_gets_a_pool_of_its_own(
        self, site: Site, members: tuple[Member, ...], more: tuple[ServiceL7Policy, ...]
    ) -> None:
        async with contextlib.AsyncExitStack() as stack:
            keeping = [await stack.enter_async_context(kept(name)) for name in (DEFAULT, SHOP, IMAGES)]
            policies = (to_pool(1, 2, rule(value="/shop")), to_pool(2, 3, rule(value="/images")), *more)
            pools = tuple(pool_of(one, id=f"pool-{number}") for number, one in enumerate(keeping, start=1))
            await self.serve(site, members, *policies, pools=pools)
            async with self.connected(site) as connection:
                for target, name in (("/", DEFAULT), ("/shop", SHOP), ("/", DEFAULT), ("/images", IMAGES)) * 2:
                    assert (await connection.ask(target)).outcome == name

    async def test_without_a_default_pool_only_policies_serve(self, site: Site, members: tuple[Member, ...]) -> None:
        await self.serve(site, members, to_pool(1, 2, rule(value="/shop")), default_pool_id=None)
        assert await self.got(site, "/shop") == SHOP
        assert await self.got(site, "/") == 503

    async def test_a_pool_with_tls_beside_others(
        self, site: Site, members: tuple[Member, ...], clients: Clients
    ) -> None:
        async with running(clients.member("safe", MEMBER)) as safe:
            pools = (pool_of(members[0]), tls_pool_of(safe, id="pool-2"))
            await self.serve(site, members, to_pool(1, 2, rule(value="/safe")), pools=pools)
            assert [await self.got(site, target) for target in ("/", "/safe", "/")] == [DEFAULT, "safe", DEFAULT]

            swapped = (tls_pool_of(safe), pool_of(members[1], id="pool-2"))
            secured = tls_listener(l7policies=(to_pool(1, 2, rule(value="/shop")),), alpn_protocols=())
            await self.apply(site, service(revision=2, listeners=(secured,), pools=swapped))
            tls = {"ssl": clients.context(), "server_hostname": "www.example.org"}
            async with self.connected(site, **tls) as connection:
                assert (await connection.ask("/shop", last=True)).outcome == SHOP
            async with self.connected(site, **tls) as connection:
                assert (await connection.ask("/", last=True)).outcome == "safe"
            assert safe.asked_for[-1] == "www.example.org"

    async def test_session_persistence_is_that_of_the_pool(self, site: Site, members: tuple[Member, ...]) -> None:
        by_cookie = SessionPersistence(type="HTTP_COOKIE")
        pools = (pool_of(members[0]), pool_of(members[1], members[2], id="pool-2", session_persistence=by_cookie))
        await self.serve(site, members, to_pool(1, 2, rule(value="/shop")), pools=pools)
        async with self.connected(site) as connection:
            first = await connection.ask("/shop", last=True)
        sent = first.header("Set-Cookie").partition(";")[0]
        assert sent
        assert {await self.got(site, "/shop", f"Cookie: {sent}") for _ in range(6)} == {first.body}
        async with self.connected(site) as connection:
            assert not (await connection.ask("/", last=True)).header("Set-Cookie")

    async def test_application_cookies_are_those_of_the_pool_that_keeps_clients_by_them(
        self, site: Site, members: tuple[Member, ...]
    ) -> None:
        by_cookie = SessionPersistence(type="APP_COOKIE", cookie_name="SID")
        async with running(Remembering("one")) as one, running(Remembering("two")) as two:
            pools = (pool_of(one, two, session_persistence=by_cookie), pool_of(members[1], members[2], id="pool-2"))
            await self.serve(site, members, to_pool(1, 2, rule(value="/shop")), pools=pools)
            for _ in range(2):
                async with self.connected(site) as connection:
                    first = await connection.ask("/", last=True)
                sent = first.header("Set-Cookie").partition(";")[0]
                assert sent.startswith("SID=")
                assert {await self.got(site, "/", f"Cookie: {sent}") for _ in range(6)} == {first.body}
                others = {await self.got(site, "/shop", f"Cookie: {sent}") for _ in range(6)}
                assert others == {members[1].name, members[2].name}

    async def test_policies_see_requests_as_they_came(self, site: Site, members: tuple[Member, ...]) -> None:
        inserted = header("STARTS_WITH", "1", key="X-Forwarded-For")
        port = header("EQUAL_TO", "80", key="X-Forwarded-Port", id="rule-2")
        wanted = {"X-Forwarded-For": "true", "X-Forwarded-Port": "true", "X-Forwarded-Proto": "true"}
        await self.serve(site, members, policy(1, inserted), policy(2, port), insert_headers=wanted)
        assert await self.got(site, "/") == DEFAULT
        assert "x-forwarded-proto: http" in members[0].last.lower()
        assert await self.got(site, "/", "X-Forwarded-For: 192.0.2.1") == 403


class Remembering(Member):
    """Gives each client a session of its own."""

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            self.heard.append((await reader.readuntil(b"\r\n\r\n")).decode())
            session = f"Set-Cookie: SID={self.name}-{len(self.heard)}; Path=/"
            head = f"HTTP/1.1 200 OK\r\nConnection: close\r\n{session}\r\nContent-Length: {len(self.name)}"
            writer.write(f"{head}\r\n\r\n{self.name}".encode())
            await writer.drain()
        writer.close()


class Keeping(Member):
    """Answers every request of a connection."""

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                self.heard.append((await reader.readuntil(b"\r\n\r\n")).decode())
                writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(self.name)}\r\n\r\n{self.name}".encode())
                await writer.drain()
        writer.close()


@contextlib.asynccontextmanager
async def kept(name: str) -> AsyncIterator[Member]:
    """A member that keeps connections."""
    async with running(Keeping(name)) as member:
        yield member
