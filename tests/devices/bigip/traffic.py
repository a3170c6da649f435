"""An emulated BIG-IP with a data plane, as clients and an agent see it."""

import itertools
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType

from msgspec.structs import replace

from evenkeel.core.devices.device import Observation, PartitionOutcome
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.resources.model import Vip
from evenkeel.core.tls.certificates import CertificateContent
from evenkeel.devices.bigip.capabilities import CAPABILITIES
from icontrol_emulator import Emulator
from tests.devices.bigip.rig import BigIpRig
from tests.devices.services import PROJECT, batch
from tests.services.process import loopback_network

_numbers = itertools.count(1)


class TrafficSite:
    """One device, whose VIPs are on loopback."""

    table = CAPABILITIES

    def __init__(
        self,
        rig: BigIpRig,
        project_id: str = PROJECT,
        *,
        at: "TrafficSite | None" = None,
        epoch: int = 1,
        **options: str,
    ) -> None:
        """``at``: the site whose VIPs it has, for an agent that takes over from that one's."""
        self.rig = rig
        self._project_id = project_id
        self._epoch = epoch
        self._owner = rig.owner(allow_loopback_addresses="true", **options)
        self._network = f"{loopback_network()}.{next(_numbers) % 250 + 1}" if at is None else at._network

    async def apply(
        self, service: ServiceDefinition, contents: Mapping[str, CertificateContent] = MappingProxyType({})
    ) -> PartitionOutcome:
        moved = replace(
            service, vip=self._moved(service.vip), additional_vips=tuple(map(self._moved, service.additional_vips))
        )
        mine = replace(moved, project_id=self._project_id)
        wanted = replace(batch(mine, certificates=contents, epoch=self._epoch), project_id=self._project_id)
        outcome: PartitionOutcome = await self._owner.apply(wanted)
        return outcome

    async def observe(self) -> Observation:
        found: Observation = await self._owner.observe()
        return found

    def place(self, address: str, port: int) -> tuple[str, int]:
        if address == "::1":
            return address, port
        return f"{self._network}.{address.rpartition('.')[2]}", port

    def _moved(self, vip: Vip) -> Vip:
        return replace(vip, address=self.place(vip.address, 0)[0])


@asynccontextmanager
async def traffic_site() -> AsyncIterator[TrafficSite]:
    """A running device whose monitors are ten times as fast."""
    async with Emulator(["bigip-1"], users={"admin": "admin"}, monitor_scale=0.1) as emulator:
        rig = BigIpRig(emulator, "standalone")
        try:
            yield TrafficSite(rig)
        finally:
            await rig.close()
