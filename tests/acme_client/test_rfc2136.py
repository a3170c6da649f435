"""Records of a zone are set and removed by signed updates, and a server that does not take them is named with the
reason."""

from collections.abc import AsyncIterator, Sequence

import pytest

from evenkeel.acme_client.resolver import DnsResolver
from evenkeel.acme_client.rfc2136 import RECORDS_PER_MESSAGE, Rfc2136Zone, TsigKey
from evenkeel.core.kit.errors import DnsZoneUnavailable
from evenkeel.core.tls.acme.values import TxtRecord
from evenkeel.core.tls.certificates import Secret
from tests.services.zone_server import KEY_NAME, SECRET, ZoneServer

ZONE = "example.org"
NAME = "_acme-challenge.www.example.org"


@pytest.fixture
async def server() -> AsyncIterator[ZoneServer]:
    async with ZoneServer(ZONE) as made:
        yield made


def record(value: str, name: str = NAME) -> TxtRecord:
    return TxtRecord(zone=ZONE, name=name, value=value)


def zone_at(
    server: ZoneServer,
    *,
    zone: str = ZONE,
    name: str = KEY_NAME,
    secret: str = SECRET,
    name_servers: Sequence[str] = (),
    timeout: float = 5.0,
) -> Rfc2136Zone:
    key = TsigKey(name, "hmac-sha256", Secret(secret.encode()))
    resolver = DnsResolver([server.address], timeout_seconds=5.0)
    return Rfc2136Zone(
        zone, server.address, key, resolver, name_servers=name_servers or [server.address], timeout_seconds=timeout
    )


async def test_records_are_added_beside_others_and_exactly_these_are_removed(server: ZoneServer) -> None:
    zone = zone_at(server)
    server.records[NAME, "TXT"] = {'"of-others"'}
    await zone.check([NAME])
    await zone.add([record("one"), record("two"), record("far", "_acme-challenge.example.org")])
    await zone.add([record("one")])
    assert server.texts(NAME) == {"of-others", "one", "two"}
    assert server.texts("_acme-challenge.example.org") == {"far"}
    await zone.remove([record("one"), record("two"), record("never")])
    assert server.texts(NAME) == {"of-others"}


async def test_more_records_than_a_message_has_are_set_and_removed(server: ZoneServer) -> None:
    zone, many = zone_at(server), [record(f"value-{number}") for number in range(RECORDS_PER_MESSAGE + 1)]
    await zone.add(many)
    assert len(server.texts(NAME)) == len(many)
    await zone.remove(many)
    assert server.texts(NAME) == set()


async def test_a_record_is_missing_until_every_authoritative_server_answers_with_it(server: ZoneServer) -> None:
    async with ZoneServer(ZONE) as second:
        zone = zone_at(server, name_servers=[server.address, second.address])
        await zone.add([record("one")])
        assert await zone.missing_record_reason([record("one")]) == (
            f"Name server 127.0.0.1 of zone {ZONE} does not have the record {NAME} yet."
        )
        second.records[NAME, "TXT"] = {'"another"', '"one"'}
        assert await zone.missing_record_reason([record("one")]) == ""
        second.silent = True
        silent = zone_at(server, name_servers=[second.address], timeout=0.5)
        assert "does not answer" in await silent.missing_record_reason([record("one")])


async def test_authoritative_servers_are_those_of_the_zones_records(server: ZoneServer) -> None:
    resolver = DnsResolver([server.address], timeout_seconds=5.0)
    assert await resolver.name_servers(ZONE) == ()
    server.records[ZONE, "NS"] = {"ns1.example.net.", "ns2.example.net."}
    server.addresses.update({"ns1.example.net": ("192.0.2.1", "2001:db8::1"), "ns2.example.net": ("192.0.2.1",)})
    assert await resolver.name_servers(ZONE) == ("192.0.2.1", "2001:db8::1")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"name": "stranger"}, "does not accept the TSIG key: it has no key of this name and algorithm."),
        ({"secret": "c3RyYW5nZXI="}, "does not accept the TSIG key: it has another secret."),
        ({"zone": "example.net"}, "of zone example.net refuses changes: NOTAUTH."),
    ],
    ids=["unknown key", "wrong secret", "another zone"],
)
async def test_a_server_that_does_not_accept_updates_is_named_with_the_reason(
    server: ZoneServer, options: dict[str, str], reason: str
) -> None:
    zone = zone_at(server, **options)  # type: ignore[arg-type]
    for attempt in (zone.check([NAME]), zone.add([record("one")]), zone.remove([record("one")])):
        with pytest.raises(DnsZoneUnavailable) as refused:
            await attempt
        assert str(refused.value).startswith("The primary name server of zone") and reason in str(refused.value)
        assert (
            "127.0.0.1" not in str(refused.value)
            and SECRET not in str(refused.value)
            and "c3RyYW5nZXI" not in str(refused.value)
        )
    assert server.updates == []


async def test_a_refusal_a_silent_server_and_an_unsigned_answer_are_named(server: ZoneServer) -> None:
    server.denied = {"_acme-challenge.example.org"}
    await zone_at(server).check([NAME])
    with pytest.raises(DnsZoneUnavailable, match="refuses changes: REFUSED"):
        await zone_at(server).check([NAME, "_acme-challenge.example.org"])
    server.refuses = True
    with pytest.raises(DnsZoneUnavailable, match="refuses changes: REFUSED"):
        await zone_at(server).check([NAME])
    server.refuses, server.signs = False, False
    with pytest.raises(DnsZoneUnavailable, match=r"does not sign its answers|response requires a TSIG"):
        await zone_at(server).check([NAME])
    server.hangs = True
    with pytest.raises(DnsZoneUnavailable, match=r"did not answer within 0.5 s"):
        await zone_at(server, timeout=0.5).check([NAME])
    await server.__aexit__()
    with pytest.raises(DnsZoneUnavailable, match="cannot be changed: Connection refused"):
        await zone_at(server).check([NAME])
