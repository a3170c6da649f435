"""Headers of a gateway: believed from the gateway, refused from everybody else."""

from typing import Any

import pytest

from evenkeel.api.identity.caller import Caller, Peer, Unauthenticated
from evenkeel.api.identity.headers import TrustedHeaders
from evenkeel.api.responses.errors import Refusal
from evenkeel.core.kit.errors import Invalid

ALICE = {"X-User-Id": "alice", "X-Project-Id": "p1", "X-Roles": "member, reader,,member"}


async def ask(
    headers: dict[str, str] | list[tuple[str, str]], peer: Peer | None, identity: TrustedHeaders | None = None
) -> Caller:
    pairs = headers.items() if isinstance(headers, dict) else headers
    raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in pairs]
    scope: dict[str, Any] = {
        "headers": raw,
        "client": ("127.0.0.1", 1),
        "state": {} if peer is None else {"peer": peer},
    }
    return await (identity or TrustedHeaders()).identify(dict(raw), scope)


async def test_the_caller_is_who_the_gateway_says() -> None:
    more = {"X-User-Name": "Alice", "OpenStack-System-Scope": "all", "X-User-Domain-Id": "default"}
    caller = await ask({**ALICE, **more}, Peer(host="127.0.0.1"))
    assert (caller.user_id, caller.project_id, caller.roles) == ("alice", "p1", ("member", "reader"))
    assert (caller.user_name, caller.system_scope, caller.user_domain_id) == ("Alice", "all", "default")
    assert not caller.is_admin


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1"])
async def test_this_machine_is_believed(host: str) -> None:
    await ask(ALICE, Peer(host=host))


@pytest.mark.parametrize("host", ["192.0.2.7", "::ffff:192.0.2.7", "fe80::1", "", "localhost"])
async def test_others_are_refused_whatever_they_say(host: str) -> None:
    for more in ({}, {"X-Forwarded-For": "127.0.0.1"}, {"Forwarded": "for=127.0.0.1"}):
        with pytest.raises(Refusal) as caught:
            await ask({**ALICE, **more}, Peer(host=host))
        assert caught.value.status == 403


async def test_a_verified_certificate_is_believed_if_it_has_the_gateways_name() -> None:
    peer = Peer(host="192.0.2.7", certificate_names=("gateway.example",))
    assert (await ask(ALICE, peer)).user_id == "alice"
    named = TrustedHeaders(frozenset({"gateway.example"}))
    assert (await ask(ALICE, peer, named)).user_id == "alice"
    for name in ("other.example", "gateway.example.evil"):
        with pytest.raises(Refusal):
            await ask(ALICE, Peer(host="127.0.0.1", certificate_names=(name,)), named)


@pytest.mark.parametrize("missing", [{}, {"X-Project-Id": "p1", "X-Roles": "admin"}, {**ALICE, "X-User-Id": " "}])
async def test_request_without_a_user_header_is_unauthenticated(missing: dict[str, str]) -> None:
    with pytest.raises(Unauthenticated):
        await ask(missing, Peer(host="127.0.0.1"))


async def test_an_identity_that_the_gateway_did_not_confirm_is_not_let_in() -> None:
    await ask({**ALICE, "X-Identity-Status": "Confirmed"}, Peer(host="127.0.0.1"))
    with pytest.raises(Unauthenticated):
        await ask({**ALICE, "X-Identity-Status": "Invalid"}, Peer(host="127.0.0.1"))


@pytest.mark.parametrize("name", ["X-Roles", "X-User-Id", "X-Project-Id", "OpenStack-System-Scope"])
async def test_a_header_given_twice_is_refused(name: str) -> None:
    with pytest.raises(Invalid, match=f"{name.lower()} is given 2 times"):
        await ask([*ALICE.items(), (name, "admin")] + ([(name, "all")] if name not in ALICE else []), Peer(host="::1"))


@pytest.mark.parametrize(
    ("name", "value"), [("X-Project-Id", "../p"), ("X-Project-Id", "p" * 37), ("X-Roles", "r" * 9000)]
)
async def test_values_that_can_be_none_are_refused(name: str, value: str) -> None:
    with pytest.raises(Invalid, match=name.lower() if name == "X-Roles" else name):
        await ask({**ALICE, name: value}, Peer(host="127.0.0.1"))


async def test_in_the_same_process_there_is_no_connection_to_look_at() -> None:
    assert (await ask(ALICE, None)).project_id == "p1"
