"""Binds ports of devices' addresses to another host at the network service: see
:mod:`evenkeel.store.networks.bindings`.
"""

import structlog

from evenkeel.controller.loops import for_each_concurrently
from evenkeel.core.kit.errors import Conflict
from evenkeel.core.networking.network import RETRY, DeviceBinding, PortOptions
from evenkeel.core.ports import AttachmentStore, Network

log = structlog.get_logger(__name__)

PORTS_PER_LOOK = 20
PORTS_AT_ONCE = 4


class DeviceBindings:
    """Finds ports of devices' addresses that are to be bound to another host, and binds them."""

    def __init__(self, store: AttachmentStore, network: Network) -> None:
        self._store = store
        self._network = network

    async def bind_due(self) -> None:
        """Bind at most :data:`PORTS_PER_LOOK` due ports. Raises :class:`NetworkUnavailable` if that prevented
        some, :class:`StoreUnavailable`. A port that the network service refuses to bind is tried again
        later.
        """
        due = await self._store.take_due_bindings(limit=PORTS_PER_LOOK, backoff=RETRY)
        await for_each_concurrently(due, self._bind_port, at_once=PORTS_AT_ONCE)

    async def _bind_port(self, claim_id: str) -> None:
        latest: DeviceBinding | None = await self._store.find_binding(claim_id)

        async def read_options() -> PortOptions | None:
            nonlocal latest
            latest = await self._store.find_binding(claim_id)
            return None if latest is None else PortOptions(security_group_ids=None, binding_host=latest.host)

        if latest is not None:
            try:
                await self._network.set_options(latest.port_id, read_options)
            except Conflict as error:
                log.warning("port of a device's address not bound; trying again", claim=claim_id, reason=str(error))
                return
        if latest is not None:
            log.info("port of a device's address bound", port=latest.port_id, host=latest.host)
        await self._store.record_binding(claim_id, None if latest is None else latest.host)
