"""Neutron's API as blocking methods with typed results; they run in threads (:mod:`threads`).

Several threads may use one client concurrently: they share only the session, which is thread-safe.
"""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from keystoneauth1.session import Session
from openstack import exceptions as sdk_errors
from openstack.connection import Connection

from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.kit.values import Value
from evenkeel.core.networking.network import PortMark, PortOptions
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.core.resources.model import Subnet

SUBNETS_MAX = 200
"""Maximum number of subnets of one network that are read."""
ITEMS_MAX = 1000
"""Maximum number of items of any other list that are read."""


class NeutronPort(Value):
    """The attributes of a Neutron port that VIPs need."""

    id: str
    project_id: ProjectId
    network_id: str
    device_id: str
    addresses: tuple[tuple[str, str], ...]
    """The port's addresses, each as (subnet id, address)."""


class PortState(Value):
    """The mutable attributes of a port, and the revision at which they were read."""

    id: str
    project_id: ProjectId
    revision: int
    qos_policy_id: str | None
    security_group_ids: tuple[str, ...]
    device_id: str = ""
    binding_host: str = ""
    is_up: bool = True
    """The port's administrative state (``admin_state_up``): False means that it carries no traffic."""


class NeutronNetworkInfo(Value):
    """A network's id, owner and subnets. ``project_id`` is empty if Neutron names no owner."""

    id: str
    project_id: ProjectId
    subnet_ids: tuple[str, ...]


class NeutronClient:
    """Neutron's API. Methods block and raise the SDK's errors
    (:data:`evenkeel.network.neutron.errors.SDK_ERRORS`). One client may be used by several threads.
    """

    def __init__(
        self,
        session: Session,
        *,
        endpoint: str | None = None,
        region: str | None = None,
        interfaces: Sequence[str] = (),
    ) -> None:
        self._opening = threading.Lock()
        self._proxy: Any = None
        self._settings: dict[str, Any] = {
            "session": session,
            "region_name": region,
            "network_endpoint_override": endpoint,
            "network_interface": list(interfaces) or None,
            "network_api_version": "2",
        }

    @property
    def _network_proxy(self) -> Any:
        """The SDK's Neutron proxy; created at the first call, because that sends requests to Keystone and Neutron."""
        # The first calls may come from several threads, and each Connection would discover the services again.
        with self._opening:
            if self._proxy is None:
                self._proxy = Connection(**self._settings).network
            return self._proxy

    def subnet(self, subnet_id: str) -> Subnet | None:
        """Look up a subnet by id; None if Neutron does not have it. Raises the SDK's errors
        (``errors.SDK_ERRORS``).
        """
        row = _get_or_none(self._network_proxy.get_subnet, subnet_id)
        return None if row is None else _convert_subnet(row)

    def network_subnets(self, network_id: str) -> list[Subnet]:
        """List the subnets of the network, at most :data:`SUBNETS_MAX`; none if Neutron does not have the
        network. Raises the SDK's errors (``errors.SDK_ERRORS``).
        """
        # The SDK returns a generator that requests page after page; islice ends it.
        found = islice(self._network_proxy.subnets(network_id=network_id), SUBNETS_MAX)
        return [_convert_subnet(row) for row in found]

    def network(self, network_id: str) -> NeutronNetworkInfo | None:
        """Look up a network by id; None if Neutron does not have it. Raises the SDK's errors
        (``errors.SDK_ERRORS``).
        """
        row = _get_or_none(self._network_proxy.get_network, network_id)
        return (
            None
            if row is None
            else NeutronNetworkInfo(
                id=row.id, project_id=ProjectId(row.project_id or ""), subnet_ids=tuple(row.subnet_ids or ())
            )
        )

    def shared_networks(self, project_id: ProjectId, *, network_id: str | None = None) -> set[str]:
        """Return the ids of networks that other projects share with the project or with all projects, and of
        external networks.

        ``network_id``: only this network is considered. Raises the SDK's errors (``errors.SDK_ERRORS``).
        """
        # Neutron writes "all projects" as *. External networks have an RBAC policy, too, with another action.
        filters: dict[str, Any] = {"object_type": "network", "target_project_id": [project_id, "*"]}
        if network_id is not None:
            filters["object_id"] = network_id
        return {row.object_id for row in islice(self._network_proxy.rbac_policies(**filters), ITEMS_MAX)}

    def port(self, port_id: str) -> NeutronPort | None:
        """Look up a port by id; None if Neutron does not have it. Raises the SDK's errors
        (``errors.SDK_ERRORS``).
        """
        row = _get_or_none(self._network_proxy.get_port, port_id)
        return None if row is None else _convert_port(row)

    def create_port(self, plan: VipPlan, mark: PortMark, project_id: ProjectId, options: PortOptions) -> NeutronPort:
        """Create a port for a VIP and its additional VIPs, with the addresses in the plan; Neutron chooses
        those that are None.

        The port is administratively down until it is bound, as in Octavia and LBaaS. Raises the SDK's errors
        (``errors.SDK_ERRORS``).
        """
        chosen: dict[str, Any] = {}
        if options.security_group_ids:
            chosen["security_groups"] = list(options.security_group_ids)
        if options.qos_policy_id is not None:
            chosen["qos_policy_id"] = options.qos_policy_id
        if options.vnic_type != "normal":
            chosen["binding:vnic_type"] = options.vnic_type
        return _convert_port(
            self._network_proxy.create_port(
                **chosen,
                network_id=plan.network_id,
                fixed_ips=[
                    {"subnet_id": each.subnet_id} | ({"ip_address": each.address} if each.address else {})
                    for each in (plan, *plan.additional)
                ],
                name=mark.name,
                device_owner=mark.device_owner,
                device_id=mark.device_id,
                is_admin_state_up=False,
                project_id=project_id,
            )
        )

    def port_ids(self, device_owner: str, device_id: str) -> list[str]:
        """Return the ids of the ports with this device owner and device id, at most :data:`ITEMS_MAX`. Raises
        the SDK's errors (``errors.SDK_ERRORS``).
        """
        rows = self._network_proxy.ports(device_owner=device_owner, device_id=device_id, fields=["id"])
        return [row.id for row in islice(rows, ITEMS_MAX)]

    def find_existing_ports(self, port_ids: Sequence[str]) -> set[str]:
        """Return those of the port ids whose ports exist. Raises the SDK's errors (``errors.SDK_ERRORS``)."""
        rows = self.list_documents("/ports", "ports", {"id": list(port_ids), "fields": ["id"]}, limit=ITEMS_MAX)
        return {row["id"] for row in rows}

    def port_state(self, port_id: str) -> PortState | None:
        """Read a port's mutable attributes and revision; None if the port does not exist. Raises the SDK's
        errors (``errors.SDK_ERRORS``).
        """
        row = _get_or_none(self._network_proxy.get_port, port_id)
        return (
            None
            if row is None
            else PortState(
                id=row.id,
                project_id=ProjectId(row.project_id or ""),
                revision=row.revision_number,
                qos_policy_id=row.qos_policy_id,
                security_group_ids=tuple(row.security_group_ids or ()),
                device_id=row.device_id or "",
                binding_host=row.binding_host_id or "",
                is_up=bool(row.is_admin_state_up),
            )
        )

    def update_port(self, port: PortState, options: PortOptions) -> bool:
        """Set the options on the port, as far as they differ; a port that gets a host is switched on.
        ``security_group_ids`` empty: the project's default group; None: unchanged, like the host. Returns
        False, with nothing set, if the port was changed since ``port`` was read. Raises the SDK's errors
        (``errors.SDK_ERRORS``).
        """
        changes: dict[str, Any] = {}
        if options.qos_policy_id != port.qos_policy_id:
            changes["qos_policy_id"] = options.qos_policy_id
        groups = options.security_group_ids
        # An emptied list of groups means what Neutron gives a new port: the project's default group. None leaves them
        # unchanged.
        wanted = self._default_groups(port.project_id) if groups == () else groups
        if wanted is not None and set(wanted) != set(port.security_group_ids):
            changes["security_groups"] = list(wanted)
        if options.binding_host is not None:
            if options.binding_host and not port.is_up:
                changes["admin_state_up"] = True
            if options.binding_host != port.binding_host:
                changes["binding:host_id"] = options.binding_host
        return not changes or self._change_port(port, changes)

    def mark_port(self, port: PortState, mark: PortMark, binding_host: str) -> bool:
        """Set the port's name, device owner and device id and, unless ``binding_host`` is empty, the host
        that the port is bound to.

        Returns False, with nothing set, if the port was changed since ``port`` was read. Raises the SDK's
        errors (``errors.SDK_ERRORS``).
        """
        changes = {"name": mark.name, "device_owner": mark.device_owner, "device_id": mark.device_id}
        bound = {"binding:host_id": binding_host} if binding_host not in ("", port.binding_host) else {}
        return self._change_port(port, changes | bound)

    def unbind_port(self, port: PortState) -> bool:
        """Unbind the port from its host. Returns False if the port was changed since ``port`` was read, and
        is still bound. Raises the SDK's errors (``errors.SDK_ERRORS``).
        """
        return self._change_port(port, {"binding:host_id": ""})

    def _change_port(self, port: PortState, changes: Mapping[str, Any]) -> bool:
        matching = {"If-Match": f"revision_number={port.revision}"}
        answer = self._network_proxy.put(f"/ports/{port.id}", json={"port": changes}, headers=matching)
        if answer.status_code == 412:
            return False
        sdk_errors.raise_from_response(answer)
        return True

    def _default_groups(self, project_id: ProjectId) -> tuple[str, ...]:
        """Return the id of the project's default security group, in a tuple; empty if Neutron has none.
        Raises the SDK's errors (``errors.SDK_ERRORS``).
        """
        # Neutron has exactly one group of this name in each project.
        filters = {"project_id": project_id, "name": "default"}
        return tuple(row["id"] for row in self.list_documents("/security-groups", "security_groups", filters, limit=1))

    def usable_security_groups(self, project_id: ProjectId, group_ids: Sequence[str]) -> set[str]:
        """Return those of the security group ids that the project owns, or that are shared with the project.
        Raises the SDK's errors (``errors.SDK_ERRORS``).
        """
        rows = self.list_documents("/security-groups", "security_groups", {"id": list(group_ids)}, limit=ITEMS_MAX)
        return {row["id"] for row in rows if row["project_id"] == project_id or row.get("shared")}

    def delete_port(self, port_id: str) -> bool:
        """Delete the port; returns False if it did not exist. Raises the SDK's errors (``errors.SDK_ERRORS``)."""
        try:
            # By default the SDK ignores a missing port, but callers need to know whether there was one.
            self._network_proxy.delete_port(port_id, ignore_missing=False)
        except sdk_errors.NotFoundException:
            return False
        return True

    def create_device_port(self, network_id: str, subnet_id: str, mark: PortMark, binding_host: str) -> NeutronPort:
        """Create a port with one address of the subnet, which Neutron chooses, for an address of a device.
        ``binding_host``: host that the port is bound to; empty: none. Raises the SDK's errors
        (``errors.SDK_ERRORS``).
        """
        bound = {"binding:host_id": binding_host} if binding_host else {}
        return _convert_port(
            self._network_proxy.create_port(
                **bound,
                network_id=network_id,
                fixed_ips=[{"subnet_id": subnet_id}],
                name=mark.name,
                device_owner=mark.device_owner,
                device_id=mark.device_id,
                is_admin_state_up=True,
            )
        )

    def subnets(self, subnet_ids: Sequence[str]) -> list[Subnet]:
        """List the subnets with these ids; missing ones are left out. Raises the SDK's errors
        (``errors.SDK_ERRORS``).
        """
        return [_convert_subnet(row) for row in self._network_proxy.subnets(id=list(subnet_ids))]

    def network_ports(self, network_id: str, addresses: Sequence[str]) -> list[dict[str, Any]]:
        """List the network's ports that have one of these addresses, as Neutron's JSON with the attributes
        that facts need. Raises the SDK's errors (``errors.SDK_ERRORS``).
        """
        filters = {
            "network_id": network_id,
            "fixed_ips": [f"ip_address={address}" for address in addresses],
            "fields": ["id", "name", "device_owner", "fixed_ips", "mac_address", "binding:host_id"],
        }
        return self.list_documents("/ports", "ports", filters, limit=ITEMS_MAX)

    def host_agents(self, hosts: Sequence[str]) -> list[dict[str, Any]]:
        """List the Neutron agents on these hosts, as Neutron's JSON. Raises the SDK's errors
        (``errors.SDK_ERRORS``).
        """
        return self.list_documents("/agents", "agents", {"host": list(hosts)}, limit=ITEMS_MAX)

    def list_documents(self, path: str, key: str, query: Mapping[str, Any], *, limit: int) -> list[dict[str, Any]]:
        """List the first ``limit`` items of the collection at ``path`` that match ``query``, as Neutron's
        JSON. ``key``: name of the list in the response. Raises the SDK's errors (``errors.SDK_ERRORS``).
        """
        answer = self._network_proxy.get(path, params={**query, "limit": limit})
        sdk_errors.raise_from_response(answer)
        items: list[dict[str, Any]] = answer.json()[key]
        return items[:limit]


def _get_or_none(get: Callable[[str], Any], object_id: str) -> Any:
    """Return ``get(object_id)``, or None if Neutron does not have the object. Ids come from tenants and
    become part of a path, so ids of only dots are not requested.
    """
    if not object_id.strip("."):
        return None
    try:
        return get(object_id)
    except sdk_errors.NotFoundException:
        return None


def _convert_subnet(row: Any) -> Subnet:
    pools: Iterable[Mapping[str, str]] = row.allocation_pools or ()
    first: Mapping[str, str] = next(iter(pools), {})
    return Subnet(
        id=row.id,
        network_id=row.network_id,
        cidr=row.cidr,
        name=row.name or "",
        gateway_ip=row.gateway_ip,
        project_id=row.project_id,
        allocation_start=first.get("start", ""),
        allocation_end=first.get("end", ""),
    )


def _convert_port(row: Any) -> NeutronPort:
    return NeutronPort(
        id=row.id,
        project_id=ProjectId(row.project_id or ""),
        network_id=row.network_id,
        device_id=row.device_id or "",
        addresses=tuple((fixed["subnet_id"], fixed["ip_address"]) for fixed in row.fixed_ips or ()),
    )
