"""Records of a zone are set and removed in a real Designate, beside those of others, and what it cannot do is named
without its address."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from evenkeel.acme_client import designate
from evenkeel.acme_client.designate import DesignateZone
from evenkeel.acme_client.designate_login import dns_proxy_factory
from evenkeel.core.kit.errors import DnsZoneUnavailable
from evenkeel.core.tls.acme.values import TxtRecord
from tests.services.designate import DesignateServer, installed
from tests.services.installation import NotInstallable
from tests.waiting import eventually

pytestmark = [
    pytest.mark.services,
    pytest.mark.timeout(1200),  # the first one waits for the installation
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),  # the SDK's, of itself
]

ZONE = "example.org"
NAME = "_acme-challenge.www.example.org"


@pytest.fixture(scope="module")
def server() -> Iterator[DesignateServer]:
    """With the zone; the first time it is installed."""
    try:
        running = DesignateServer(installed())
    except NotInstallable as error:
        pytest.skip(str(error))
    running.start()
    dns_at(running).create_zone(name=f"{ZONE}.", email="hostmaster@example.org")
    yield running
    running.close()


@pytest.fixture
async def zone(server: DesignateServer) -> AsyncIterator[DesignateZone]:
    made = zone_at(server)
    yield made
    server.let_wait(False)
    for each in record_sets(server):
        dns_at(server).delete_recordset(each)
    await eventually(lambda: not record_sets(server))
    made.close()


def dns_at(server: DesignateServer) -> Any:
    return dns_proxy_factory("dns", file=str(server.clouds_file()), timeout_seconds=30)()


def zone_at(server: DesignateServer, *, zone: str = ZONE, timeout_seconds: float = 30.0) -> DesignateZone:
    connect = dns_proxy_factory("dns", file=str(server.clouds_file()), timeout_seconds=timeout_seconds)
    return DesignateZone(zone, connect, timeout_seconds=timeout_seconds)


def record_sets(server: DesignateServer) -> list[Any]:
    dns = dns_at(server)
    zone_id = next(iter(dns.zones(name=f"{ZONE}."))).id
    return list(dns.recordsets(zone_id, type="TXT"))


def texts(server: DesignateServer) -> dict[str, set[str]]:
    """Values of TXT records by name."""
    return {each.name.rstrip("."): {one.strip('"') for one in each.records} for each in record_sets(server)}


def record(value: str, name: str = NAME) -> TxtRecord:
    return TxtRecord(zone=ZONE, name=name, value=value)


async def test_records_are_added_beside_others_and_exactly_these_are_removed(
    server: DesignateServer, zone: DesignateZone
) -> None:
    await zone.check([NAME])
    await zone.add([record("of-others")])
    await zone.add([record("one"), record("two"), record("far", "_acme-challenge.example.org")])
    await zone.add([record("one")])
    assert texts(server) == {NAME: {"of-others", "one", "two"}, "_acme-challenge.example.org": {"far"}}
    assert {each.ttl for each in record_sets(server)} == {designate.TTL_SECONDS}
    await zone.remove([record("one"), record("two"), record("never"), record("far", "_acme-challenge.example.org")])
    assert texts(server)[NAME] == {"of-others"}
    assert (
        await zone.missing_record_reason([record("two")])
        == f"Designate does not have the record {NAME} of zone {ZONE}."
    )


async def test_records_are_missing_until_name_servers_have_them(server: DesignateServer, zone: DesignateZone) -> None:
    server.let_wait(True)
    await zone.add([record("one")])
    told = await zone.missing_record_reason([record("one")])
    assert told == f"Designate has not brought the record {NAME} to the name servers of zone {ZONE} yet."
    server.let_wait(False)
    await zone.add([record("two")])

    async def is_there() -> bool:
        return not await zone.missing_record_reason([record("one"), record("two")])

    await eventually(is_there)
    server.let_wait(True)
    await zone.remove([record("one"), record("two")])
    assert await zone.missing_record_reason([record("one")]) != ""


async def test_controllers_that_set_records_of_one_name_at_once_end_with_all_of_them(
    server: DesignateServer, zone: DesignateZone
) -> None:
    zones = [zone, *(zone_at(server) for _ in range(2))]
    wanted = [record(f"value-{number}") for number in range(len(zones))]

    async def place(number: int) -> bool:
        """What each repeats until its record is there."""
        await zones[number].add([wanted[number]])
        return not await zones[number].missing_record_reason([wanted[number]])

    await asyncio.gather(*(eventually(lambda number=number: place(number)) for number in range(len(zones))))  # type: ignore[misc]
    for each in zones[1:]:
        each.close()


async def test_a_zone_that_the_project_does_not_have_is_named(server: DesignateServer) -> None:
    elsewhere = zone_at(server, zone="example.net")
    with pytest.raises(DnsZoneUnavailable, match=r"Designate has no zone example\.net in the project"):
        await elsewhere.check([NAME])
    elsewhere.close()


async def test_a_record_that_designate_refuses_is_told(server: DesignateServer, zone: DesignateZone) -> None:
    with pytest.raises(DnsZoneUnavailable, match=r"cannot be changed in Designate: HTTP 400\.$"):
        await zone.add([record("one", "_acme-challenge.www.example.net")])


async def test_a_server_that_nobody_runs_or_that_does_not_answer_is_told_without_its_address(tmp_path: Path) -> None:
    silent = socket.create_server(("127.0.0.1", 0))
    port = silent.getsockname()[1]
    file = tmp_path / "clouds.yaml"
    for endpoint, told in (("http://127.0.0.1:1/", "cannot be changed"), (f"http://127.0.0.1:{port}/", "Designate")):
        file.write_text(f"clouds: {{dns: {{auth_type: none, auth: {{endpoint: '{endpoint}'}}}}}}\n")
        zone = DesignateZone(ZONE, dns_proxy_factory("dns", file=str(file), timeout_seconds=0.5), timeout_seconds=0.5)
        with pytest.raises(DnsZoneUnavailable, match=told) as refused:
            await zone.check([NAME])
        assert "127.0.0.1" not in str(refused.value)
        zone.close()
    silent.close()
