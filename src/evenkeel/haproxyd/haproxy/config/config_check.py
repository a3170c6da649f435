"""Finds what makes HAProxy refuse a configuration, by running ``haproxy -c`` on a copy."""

import asyncio
from collections.abc import Mapping, Sequence

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.disk.storage import PartitionStorage
from evenkeel.haproxyd.errors import HaproxyDown
from evenkeel.haproxyd.haproxy.binary import FindBinary
from evenkeel.haproxyd.haproxy.config.compose import ConfigComposer, HaproxyConfig
from evenkeel.haproxyd.haproxy.config.config_bisect import bisect_refused, check_config
from evenkeel.haproxyd.haproxy.config.config_files import write_files
from evenkeel.haproxyd.haproxy.config.layout import PartitionLayout
from evenkeel.haproxyd.settings import DaemonSettings

LoadBalancers = Mapping[str, wire.LoadBalancerConfig]


class ConfigCheck:
    """Checks one partition's configurations with ``haproxy -c``."""

    def __init__(
        self,
        partition: str,
        settings: DaemonSettings,
        binary: FindBinary,
        storage: PartitionStorage,
        layout: PartitionLayout,
    ) -> None:
        self._partition = partition
        self._settings = settings
        self._binary = binary
        self._storage = storage
        self._layout = layout

    async def is_due(self) -> bool:
        """Whether each configuration has to be checked before a reload, because a refused reload costs
        connections. Raises :class:`HaproxyDown` if there is no usable HAProxy.
        """
        return (await self._binary()).refused_reload_interrupts

    async def check(self, load_balancers: LoadBalancers) -> str:
        """Return HAProxy's reason to refuse these load balancers, without peers and the operator's file;
        empty if HAProxy accepts them. The copy that is checked is removed.

        Raises :class:`HaproxyDown` if the check does not end in time or there is no usable HAProxy,
        :class:`OSError`.
        """
        try:
            return await self._check_load_balancers(load_balancers)
        finally:
            # The copy contains private keys, so it does not outlast the check.
            await asyncio.to_thread(self._storage.remove_check_dir)

    async def _check_load_balancers(self, load_balancers: LoadBalancers) -> str:
        directory = await asyncio.to_thread(self._storage.make_check_dir)
        layout = PartitionLayout(
            config_dir=directory / "conf",
            files_dir=directory / "files",
            server_states=None,
            # `haproxy -c` binds nothing, so these may be the paths of the running HAProxy's sockets.
            master_socket=self._layout.master_socket,
            worker_socket=self._layout.worker_socket,
            peer_socket=self._layout.peer_socket,
        )
        composer = ConfigComposer(self._partition, layout, self._settings)
        await asyncio.to_thread(
            write_files, self._storage, HaproxyConfig(load_balancers=load_balancers), layout, {}, composer
        )
        binary, limit = await self._binary(), self._settings.check_timeout_seconds
        return await check_config(binary, layout.config_dir, layout.files_dir, limit)

    async def bisect(
        self, wanted: LoadBalancers, running: LoadBalancers, message: str, *, with_local: bool
    ) -> dict[str, str]:
        """Find the load balancers that HAProxy refuses, and return ``{id: reason}``; empty: the operator's
        file is the cause.

        ``message``: HAProxy's message; ``with_local``: whether it read the operator's file. If checks find no
        cause, the changed load balancers that the message names are returned, or else all that changed.
        Raises :class:`HaproxyDown` if the check cannot be run, if none changed, or if none runs and the
        message names none of several.
        """
        # What runs unchanged was accepted before, so it is not suspected.
        suspects = sorted(name for name, one in wanted.items() if one != running.get(name))

        async def check(names: Sequence[str]) -> str:
            return await self.check({name: wanted[name] for name in names})

        found = await bisect_refused(suspects, check)
        if found:
            return found
        # The check leaves the operator's file out: if HAProxy accepts the rest, that file is the cause.
        if with_local and not await self.check(wanted):
            return {}
        if not suspects:
            raise HaproxyDown(f"HAProxy does not take its configuration: {message}")
        named = [name for name in suspects if _mentions_load_balancer(message, wanted[name])]
        if not named and not running and len(suspects) > 1:
            raise HaproxyDown(f"HAProxy does not take its configuration, and names no load balancer: {message}")
        return dict.fromkeys(named or suspects, message)


def _mentions_load_balancer(message: str, load_balancer: wire.LoadBalancerConfig) -> bool:
    names = (*(item.name for item in load_balancer.frontends), *(item.name for item in load_balancer.backends))
    return any(name in message for name in names)
