"""TLS through real HAProxys: what every device does, and what is HAProxy's own."""

from collections.abc import Mapping
from typing import Any

import pytest

from evenkeel.core.certificates import CertificateContent
from evenkeel.core.device import Observation, PartitionOutcome
from evenkeel.core.service import ServiceDefinition
from tests.devices.haproxy.rig import HaproxyRig
from tests.devices.services import batch
from tests.devices.tls_behaviour import TlsBehaviour


class HaproxySite:
    """One HAProxy, as clients and an agent see it."""

    def __init__(self, rig: HaproxyRig) -> None:
        self._rig = rig
        self._owner = rig.owner()

    async def apply(self, service: ServiceDefinition, contents: Mapping[str, CertificateContent]) -> PartitionOutcome:
        return await self._owner.apply(batch(service, certificates=contents))

    async def observe(self) -> Observation:
        found: Observation = await self._owner.observe()
        return found

    def place(self, port: int) -> tuple[str, int]:
        return self._rig.box.moved("10.1.0.2", port)


class TestHaproxyTls(TlsBehaviour):
    @pytest.fixture
    def site(self, rig: HaproxyRig) -> Any:
        return HaproxySite(rig)
