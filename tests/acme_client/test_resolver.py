"""Names are resolved by the configured name servers alone."""

import asyncio
from collections.abc import AsyncIterator

import dns.rcode
import pytest

from evenkeel.acme_client.resolver import DnsResolver
from evenkeel.core.kit.errors import DnsResolverUnavailable
from evenkeel.core.tls.acme.caa import CaaRecord
from tests.services.name_server import NameServer

RECORDS = {"www.example.org": ("192.0.2.1", "2001:db8::1"), "empty.example.org": ()}


@pytest.fixture
async def server() -> AsyncIterator[NameServer]:
    async with NameServer(RECORDS) as made:
        yield made


async def test_addresses_of_both_families_are_found(server: NameServer) -> None:
    resolver = DnsResolver([server.address], timeout_seconds=5.0)
    assert await resolver.addresses("www.example.org") == ("192.0.2.1", "2001:db8::1")


async def test_a_name_that_does_not_exist_or_has_no_address_has_none(server: NameServer) -> None:
    resolver = DnsResolver([server.address], timeout_seconds=5.0)
    assert await resolver.addresses("gone.example.org") == ()
    assert await resolver.addresses("empty.example.org") == ()


async def test_a_name_server_that_fails_or_is_silent_is_no_answer(server: NameServer) -> None:
    resolver = DnsResolver([server.address], timeout_seconds=0.3)
    server.rcode = dns.rcode.SERVFAIL
    with pytest.raises(DnsResolverUnavailable, match=r"www\.example\.org"):
        await resolver.addresses("www.example.org")
    server.silent = True
    with pytest.raises(DnsResolverUnavailable, match=r"www\.example\.org"):
        await asyncio.wait_for(resolver.addresses("www.example.org"), 30)


async def test_caa_records_are_those_of_the_name_itself(server: NameServer) -> None:
    resolver = DnsResolver([server.address], timeout_seconds=5.0)
    values = {'0 issue "ca.example; validationmethods=http-01"', '128 iodef "x"'}
    server.records["www.example.org", "CAA"] = values
    found = await resolver.caa("www.example.org")
    assert sorted(found) == [
        CaaRecord(0, "issue", "ca.example; validationmethods=http-01"),
        CaaRecord(128, "iodef", "x"),
    ]
    assert await resolver.caa("empty.example.org") == await resolver.caa("gone.example.org") == ()
    server.rcode = dns.rcode.SERVFAIL
    with pytest.raises(DnsResolverUnavailable, match="CAA records"):
        await resolver.caa("www.example.org")


def test_name_servers_are_addresses_with_an_optional_port() -> None:
    for good in ("192.0.2.1", "192.0.2.1:5353", "2001:db8::1", "[2001:db8::1]:5353"):
        DnsResolver([good], timeout_seconds=1.0)
    for bad in ("ns.example.org", "192.0.2.1:0", "192.0.2.1:x", "[2001:db8::1]:70000", ""):
        with pytest.raises(ValueError):  # texts of the standard library, too
            DnsResolver([bad], timeout_seconds=1.0)
