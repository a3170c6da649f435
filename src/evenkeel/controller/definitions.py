"""Service definitions for agents, completed with facts and ports from the network service.

Facts of networks and addresses of devices are stored in the database, so an outage of the network service only affects
load balancers on networks to which no device was attached before: their definitions contain the reason, and the network
service is queried again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeVar

import structlog

from evenkeel.controller.settings import ControllerSettings
from evenkeel.core.control.writes import Change
from evenkeel.core.kit.errors import Conflict, EvenKeelError, NetworkUnavailable
from evenkeel.core.kit.ids import LoadBalancerId, ShardId
from evenkeel.core.networking.attachment import DevicePort, NetworkRequestsNeeded
from evenkeel.core.ports import AttachmentStore, FoundServices, Network, OwnershipStore
from evenkeel.core.protocol import messages as m

log = structlog.get_logger(__name__)

ROUNDS = 4
"""Maximum number of queries in a row: for networks, ports and hosts of members, and once more after a concurrent
change.
"""
PORTS_AT_ONCE = 8
LATE = "the network service has not answered yet"
NO_PORTS = "its networks were read from a network service, which is not configured any more"
CHANGING = "its networks change faster than ports for devices are made"

T = TypeVar("T")
Problems = dict[LoadBalancerId, str]


class DefinitionReader:
    """Reads service definitions from the database, and completes what they lack from the network service.

    ``network``: a network service with ports, queried for missing facts; None: the database holds all facts.
    """

    def __init__(
        self,
        ownership: OwnershipStore,
        attachments: AttachmentStore,
        network: Network | None,
        settings: ControllerSettings,
        tell: Callable[[Change], None] = lambda change: None,
        *,
        on_unanswered: Callable[[], None] = lambda: None,
    ) -> None:
        self._ownership = ownership
        self._attachments = attachments
        self._network = network
        self._settings = settings
        self._tell = tell
        """Receives changes that follow from answers of the network service, and networks that load balancers wait
        for.
        """
        self._on_unanswered = on_unanswered
        """Called if the network service did not answer, so that it is queried again soon."""
        self._making: dict[tuple[ShardId, DevicePort], asyncio.Task[str]] = {}
        """Ports being created; each task returns the reason of a failure, or an empty text. A call that times out
        leaves them to the next call.
        """
        self._slots = asyncio.Semaphore(PORTS_AT_ONCE)

    async def read(self, call: m.GetServices, *, limit: int) -> m.ServiceDefinitions:
        """Read a page of at most ``limit`` definitions of the shard, and request missing facts and ports from
        the network service. Load balancers whose facts are not available have the reason in their
        definitions. Raises :class:`SessionLost`, :class:`StoreUnavailable`.
        """
        problems: Problems = {}
        # Each fact is queried once for a call: what the network service does not have now, it will not have in a
        # second.
        asked: set[object] = set()
        # One deadline for all rounds, because the agent's time-out is for the whole call.
        until = asyncio.get_running_loop().time() + self._settings.network_answer_seconds
        for _ in range(ROUNDS):
            found = await self._read_page(call, limit, problems)
            if self._network is None:
                lacking: Problems = dict.fromkeys(found.needs.ports, NO_PORTS)
                if not lacking:
                    return found.page
            elif not (needs := _requests_not_yet_made(found.needs, asked)):
                return found.page
            else:
                lacking = await self._query_network(self._network, call.shard_id, needs, until)
            problems |= lacking
        found = await self._read_page(call, limit, problems)
        # Ports that are still missing were changed concurrently: their load balancers get that as the reason.
        if found.needs.ports:
            found = await self._read_page(call, limit, dict.fromkeys(found.needs.ports, CHANGING) | problems)
        return found.page

    async def _read_page(self, call: m.GetServices, limit: int, problems: Problems) -> FoundServices:
        found = await self._ownership.services(
            call.agent_id,
            call.session_id,
            call.shard_id,
            call.epoch,
            load_balancer_ids=call.load_balancer_ids,
            after_id=call.after_id,
            limit=limit,
            unattachable=problems,
            knows_standby=call.knows_standby,
        )
        for change in found.awaited:
            self._tell(change)
        return found

    async def _query_network(
        self, network: Network, shard_id: ShardId, needs: NetworkRequestsNeeded, until: float
    ) -> Problems:
        """Query the network service until ``until`` (seconds of the loop's clock), and store its answers.

        Returns the load balancers for which there is no usable answer, with the reason. Raises
        :class:`StoreUnavailable`.
        """
        problems = await self._read_facts(network, needs.subnets, until)
        await self._find_hosts(network, needs.members, until)
        return problems | await self._make_ports(network, shard_id, needs.ports, until)

    # -- facts

    async def _read_facts(
        self, network: Network, wanted: Mapping[LoadBalancerId, frozenset[str]], until: float
    ) -> Problems:
        ids = frozenset().union(*wanted.values())
        if not ids:
            return {}
        facts, reason = await _network_answer_or_reason(lambda: network.read_facts(ids), until)
        if facts is None:
            return dict.fromkeys(wanted, reason)
        await self._attachments.store_network_facts(facts.subnets)
        return _first_reason_by_load_balancer(
            {id_: sorted(subnet_ids) for id_, subnet_ids in wanted.items()}, facts.refused
        )

    async def _find_hosts(self, network: Network, members: Iterable[tuple[str, str]], until: float) -> None:
        """Query and store the hosts of members, pairs of (network id, address). Members that are not found
        stay unknown: devices resolve them by ARP or NDP.

        If the network service does not answer, load balancers are served without these hosts, and the query
        is repeated soon. Raises :class:`StoreUnavailable`.
        """
        by_network: dict[str, set[str]] = {}
        for network_id, address in members:
            by_network.setdefault(network_id, set()).add(address)
        wanted = sorted(by_network.items())
        for place, (network_id, addresses) in enumerate(wanted):
            hosts, reason = await _network_answer_or_reason(partial(network.find_hosts, network_id, addresses), until)
            if hosts is None:
                # This network and all after it: the time is over for them, too.
                late = dict(wanted[place:])
                log.warning("hosts of members are not known", networks=list(late), reason=reason)
                await self._attachments.record_unanswered_hosts(late)
                self._on_unanswered()
                return
            for change in await self._attachments.store_hosts(network_id, hosts):
                self._tell(change)

    # -- ports

    async def _make_ports(
        self,
        network: Network,
        shard_id: ShardId,
        wanted: Mapping[LoadBalancerId, tuple[DevicePort, ...]],
        until: float,
    ) -> Problems:
        tasks = {port: self._port_creation_task(network, shard_id, port) for ports in wanted.values() for port in ports}
        if not tasks:
            return {}
        left_seconds = until - asyncio.get_running_loop().time()
        # Late tasks are not cancelled: a request may already have created the port, and the next call finds it stored.
        await asyncio.wait(tasks.values(), timeout=max(0.0, left_seconds))
        reasons = {port: task.result() if task.done() else LATE for port, task in tasks.items()}
        return _first_reason_by_load_balancer(wanted, reasons)

    def _port_creation_task(self, network: Network, shard_id: ShardId, port: DevicePort) -> asyncio.Task[str]:
        key = shard_id, port
        if key not in self._making:
            task = self._making[key] = asyncio.create_task(self._make_port(network, shard_id, port))
            task.add_done_callback(lambda _: self._making.pop(key, None))
        return self._making[key]

    async def _make_port(self, network: Network, shard_id: ShardId, port: DevicePort) -> str:
        """Create a port and store its address; returns the reason of a failure, empty if there is none. A
        port that could not be stored is deleted later.
        """
        try:
            async with self._slots:
                taken = await network.take_address(port)
        except (Conflict, NetworkUnavailable) as error:
            return str(error)
        stored = False
        try:
            stored = await self._attachments.store_address(shard_id, taken)
        except EvenKeelError as error:
            return str(error)
        finally:
            # Also after a cancellation: the port must not stay without anything that refers to it.
            if not stored:
                await network.abandon_address(taken)
        return ""

    async def close(self) -> None:
        """Cancel the creation of ports. Ports that are not stored yet are deleted later by their claims, by
        any controller.
        """
        tasks = list(self._making.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _network_answer_or_reason(ask: Callable[[], Awaitable[T]], until: float) -> tuple[T | None, str]:
    """Return (answer of the network service, empty text), or (None, reason) if it is unavailable or does not
    answer until ``until`` (seconds of the loop's clock).
    """
    try:
        async with asyncio.timeout_at(until):
            return await ask(), ""
    except TimeoutError:
        return None, LATE
    except NetworkUnavailable as error:
        return None, str(error)


def _first_reason_by_load_balancer(wanted: Mapping[LoadBalancerId, Sequence[T]], reasons: Mapping[T, str]) -> Problems:
    """Return, by load balancer, the reason of the first of its ``wanted`` items that has one; load balancers
    without a reason are left out.
    """
    found = {id_: [reasons[one] for one in each if reasons.get(one)] for id_, each in wanted.items()}
    return {id_: each[0] for id_, each in found.items() if each}


def _requests_not_yet_made(needs: NetworkRequestsNeeded, asked: set[object]) -> NetworkRequestsNeeded:
    """Return the needs without the subnets and members in ``asked``, and add these to ``asked``; ports are
    always kept.
    """
    subnets = {id_: ids - asked for id_, ids in needs.subnets.items() if ids - asked}
    members = needs.members - asked
    asked.update(members, *subnets.values())
    return NetworkRequestsNeeded(subnets=subnets, ports=needs.ports, members=members)
