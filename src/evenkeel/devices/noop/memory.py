"""State of a no-op device group: definitions by partition, and guards. Agents with the same memory share a device."""

import hashlib
from collections.abc import Iterator

import msgspec

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.errors import OwnershipGuardLost, StaleOwner
from evenkeel.core.kit.ids import COMMON_PROJECT, LoadBalancerId, ProjectId, SessionId
from evenkeel.core.resources.capacity import Metric
from evenkeel.core.resources.model import Vip

NetworkAddress = tuple[str, str]
"""Network id and address: networks of tenants may overlap, so one address in two networks is no conflict."""


class Partition:
    """One tenant's partition: the guard (``epoch`` None: none), and the applied definition of each load
    balancer.
    """

    def __init__(self) -> None:
        self.epoch: int | None = None
        self.session_id = ""
        self.holds: dict[str, ServiceDefinition] = {}
        self.foreign: set[str] = set()
        """Objects of other owners, which are never touched."""


class NoopMemory:
    """State of a no-op device, which refuses stale owners and addresses in use like a real one."""

    def __init__(self) -> None:
        self.partitions: dict[ProjectId, Partition] = {}
        self.floor: tuple[int, SessionId] = (0, SessionId(""))
        """Epoch and session of the newest guard that was removed with its partition."""
        self.reachable = True
        self.incarnation = "1"
        """Value of :attr:`evenkeel.core.status.device_state.DeviceState.incarnation`; set by tests."""
        self.figures: dict[str, float] = {}
        """Utilization by capacity metric that tests set, in addition to what the partitions hold."""
        self._holders: dict[NetworkAddress, tuple[ProjectId, LoadBalancerId]] = {}
        """``{address: load balancer that got the address last}``. The load balancer may have left the address since."""

    def take_over(self, project_id: ProjectId, epoch: int, session_id: SessionId) -> Partition:
        """Set the partition's guard to this owner, and return the partition, created if absent.

        Raises :class:`StaleOwner` if the guard has a newer epoch, or the same epoch and another session; a
        partition without a guard is compared with the newest removed guard in the same way.
        """
        partition = self.partitions.get(project_id, Partition())
        _refuse_stale(project_id, partition, epoch, session_id)
        if partition.epoch is None and epoch <= self.floor[0] and (epoch, session_id) != self.floor:
            raise StaleOwner(project_id, self.floor[0])
        self.partitions[project_id] = partition
        partition.epoch, partition.session_id = epoch, session_id
        return partition

    def partition_with_valid_guard(self, project_id: ProjectId, epoch: int, session_id: SessionId) -> Partition:
        """Return the partition that this owner guards. Raises :class:`StaleOwner` if the guard has a newer
        epoch, or the same epoch and another session; :class:`OwnershipGuardLost` if it has an older epoch or is
        absent.
        """
        partition = self.partitions.get(project_id, Partition())
        _refuse_stale(project_id, partition, epoch, session_id)
        if partition.epoch != epoch:
            raise OwnershipGuardLost("noop", project_id, partition.epoch)
        return partition

    def retire(self, project_id: ProjectId, epoch: int, session_id: SessionId) -> bool:
        """Remove the partition if it is empty and has this owner's guard or none; the minimum epoch is raised
        to that of a removed guard. True if the partition is absent now; False: it is still there.
        """
        partition = self.partitions.get(project_id)
        if partition is None or (partition.epoch is None and not partition.holds and not partition.foreign):
            self.partitions.pop(project_id, None)
            return True
        if partition.holds or partition.foreign or (partition.epoch, partition.session_id) != (epoch, session_id):
            return False
        if epoch > self.floor[0]:
            self.floor = epoch, session_id
        del self.partitions[project_id]
        return True

    def utilization(self) -> dict[str, float]:
        """Return ``{capacity metric: value}``: tenants with load balancers, member addresses, and what a test
        set in ``figures``.
        """
        held = [tuple(partition.holds.values()) for _, partition in self.tenants() if partition.holds]
        nodes = sum(
            len({member.address for service in services for pool in service.pools for member in pool.members})
            for services in held
        )
        counted = {Metric.TENANT_COUNT.value: len(held), Metric.NODE_COUNT.value: nodes}
        return {name: counted.get(name, 0) + self.figures.get(name, 0.0) for name in {*counted, *self.figures}}

    def digests(self) -> dict[str, str]:
        """Return ``{load balancer id: SHA-256 of its definition, in hex}``."""
        return {
            load_balancer_id: hashlib.sha256(msgspec.json.encode(service)).hexdigest()
            for _, partition in self.tenants()
            for load_balancer_id, service in partition.holds.items()
        }

    def tenants(self) -> Iterator[tuple[ProjectId, Partition]]:
        """Yield project and partition of all partitions except the one for networks that projects share."""
        return ((project_id, one) for project_id, one in self.partitions.items() if project_id != COMMON_PROJECT)

    def missing_shared_network(self, service: ServiceDefinition) -> str:
        """Describe the first shared network of the load balancer that the device does not hold with all its
        subnets; empty if there is none, and for a shared network itself.
        """
        common = self.partitions.get(COMMON_PROJECT, Partition())
        for network in service.networks if service.project_id != COMMON_PROJECT else ():
            held = common.holds.get(network.id)
            there = _subnet_ids(held) if held else set()
            if network.common and not {subnet.id for subnet in network.subnets} <= there:
                return f"network {network.id} is not there"
        return ""

    def subnets_used(self, network: ServiceDefinition) -> set[str]:
        """Return those subnet ids of a shared network that load balancers use and no other shared network
        has. Empty for anything but a shared network.
        """
        if network.project_id != COMMON_PROJECT:
            return set()
        held = self.partitions.get(COMMON_PROJECT, Partition()).holds.values()
        others = {
            id_ for each in held if each.load_balancer_id != network.load_balancer_id for id_ in _subnet_ids(each)
        }
        mine = _subnet_ids(network) - others
        services = (service for _, partition in self.tenants() for service in partition.holds.values())
        return mine & {id_ for each in services for id_ in _subnet_ids(each)}

    def store_definition(self, project_id: ProjectId, service: ServiceDefinition) -> None:
        """Store a definition in the partition, which must exist, and index the load balancer's addresses."""
        self.partitions[project_id].holds[service.load_balancer_id] = service
        if project_id != COMMON_PROJECT:  # networks have no addresses of clients
            self._holders |= dict.fromkeys(_vip_addresses(service), (project_id, service.load_balancer_id))

    def load_balancer_with_vip(self, vip: Vip) -> LoadBalancerId | None:
        """Return the load balancer that has the VIP's address in the VIP's network; None if none has it."""
        where = vip.network_id, vip.address
        project_id, load_balancer_id = self._holders.get(where, (ProjectId(""), LoadBalancerId("")))
        service = self.partitions.get(project_id, Partition()).holds.get(load_balancer_id)
        return load_balancer_id if service is not None and where in _vip_addresses(service) else None

    def reindex_addresses(self) -> None:
        """Rebuild the index of addresses, after a test changed the contents of partitions."""
        self._holders = {
            address: (project_id, LoadBalancerId(load_balancer_id))
            for project_id, partition in self.tenants()
            for load_balancer_id, service in partition.holds.items()
            for address in _vip_addresses(service)
        }


def _vip_addresses(service: ServiceDefinition) -> set[NetworkAddress]:
    return {(vip.network_id, vip.address) for vip in (service.vip, *service.additional_vips)}


def _subnet_ids(service: ServiceDefinition) -> set[str]:
    return {subnet.id for network in service.networks for subnet in network.subnets}


def _refuse_stale(project_id: ProjectId, partition: Partition, epoch: int, session_id: SessionId) -> None:
    """Raise :class:`StaleOwner` if the partition's guard has a newer epoch, or the same epoch with another
    session.

    Each takeover has a higher epoch, so an epoch with two sessions was assigned twice, and the second session
    is refused.
    """
    if partition.epoch is None or partition.epoch < epoch:
        return
    if partition.epoch > epoch or partition.session_id != session_id:
        raise StaleOwner(project_id, partition.epoch)
