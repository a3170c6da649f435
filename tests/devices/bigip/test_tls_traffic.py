"""TLS through the stand-in's data plane: what every device does."""

import itertools
import os
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from evenkeel.core.certificates import CertificateContent
from evenkeel.core.device import Observation, PartitionOutcome
from evenkeel.core.service import ServiceDefinition
from icontrol_emulator import Emulator
from tests.devices.bigip.rig import BigIpRig
from tests.devices.services import batch
from tests.devices.tls_behaviour import Clients, Member, Site, TlsBehaviour, pool_of, tls_listener

_numbers = itertools.count(1)


class BigIpSite:
    """One device, whose VIPs are on loopback."""

    def __init__(self, rig: BigIpRig) -> None:
        self._owner = rig.owner(allow_loopback_addresses="true")
        self._address = f"127.{os.getpid() % 250 + 2}.{next(_numbers)}.9"

    async def apply(self, service: ServiceDefinition, contents: Mapping[str, CertificateContent]) -> PartitionOutcome:
        moved = replace(service, vip=replace(service.vip, address=self._address))
        return await self._owner.apply(batch(moved, certificates=contents))

    async def observe(self) -> Observation:
        found: Observation = await self._owner.observe()
        return found

    def place(self, port: int) -> tuple[str, int]:
        return self._address, port


class TestBigIpTls(TlsBehaviour):
    @pytest.fixture
    async def site(self) -> AsyncIterator[Any]:
        async with Emulator(["bigip-1"], users={"admin": "admin"}, monitor_scale=0.1) as emulator:
            rig = BigIpRig(emulator, "standalone")
            yield BigIpSite(rig)
            await rig.close()

    async def test_http_2_is_not_offered_unless_it_is_wanted(self, site: Site, clients: Clients, plain: Member) -> None:
        """Nor is anything else: a BIG-IP speaks ALPN only with an http2 profile."""
        await self.serve(site, tls_listener(alpn_protocols=("http/1.1",)), pools=(pool_of(plain),))
        answer = await clients.ask(tls=clients.context(alpn=["h2", "http/1.1"]))
        assert (answer.status, answer.protocol) == (200, None)

    # L7 policies and TLS-HELLO monitors are refused by name: see capabilities

    async def test_rules_look_at_clients_certificates(self, site: Site, clients: Clients, plain: Member) -> None:
        pytest.skip("no L7 policies")

    async def test_clients_in_the_clear_are_sent_to_tls(self, site: Site, clients: Clients, plain: Member) -> None:
        pytest.skip("no L7 policies")

    @pytest.mark.parametrize("type_", ["HTTPS"])
    async def test_monitors_verify_members_as_clients_requests_do(
        self, site: Site, clients: Clients, type_: Any
    ) -> None:
        await super().test_monitors_verify_members_as_clients_requests_do(site, clients, type_)
