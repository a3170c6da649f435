"""An imported load balancer as Even Keel's API shows it, and its release."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from evenkeel.cli.client import API_PATH, ApiRefused, Client, quote_segment

_TCP_PROTOCOLS = ("HTTP", "TCP", "HTTPS", "TERMINATED_HTTPS", "PROMETHEUS")
_NOT_FOUND_STATUS = 404


class EvenKeelLoadBalancer(NamedTuple):
    """A load balancer of Even Keel that came from another system."""

    id: str
    name: str
    addresses: tuple[str, ...]
    """Addresses of the VIP, then of additional VIPs."""
    port_id: str
    """Id of the VIP's port at Neutron."""
    tcp_port: int | None
    """TCP port of a listener, to probe; None: no listener accepts TCP connections."""

    @property
    def title(self) -> str:
        """Name and id of the load balancer for output."""
        return f"{self.name} ({self.id})" if self.name else self.id


class HostingState(NamedTuple):
    """State of a load balancer at Even Keel. ``held``: no device gets it; ``status``: its provisioning
    status; ``reason``: why it is PENDING or ERROR; ``environment``: name of the environment that serves
    it.
    """

    held: bool
    status: str
    reason: str
    environment: str

    @property
    def settled(self) -> bool:
        """Whether the devices have confirmed the present state, held or released."""
        return self.status == "ACTIVE"


class EvenKeelApi:
    """Client of Even Keel's API for imported load balancers."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def find_load_balancer(self, load_balancer_id: str) -> EvenKeelLoadBalancer | None:
        """Return the load balancer with this id; None if there is none. Raises :class:`ClientError`."""
        try:
            row = self._client.get(f"/v2.0/lbaas/loadbalancers/{quote_segment(load_balancer_id)}")["loadbalancer"]
        except ApiRefused as error:
            if error.status == _NOT_FOUND_STATUS:
                return None
            raise
        query = {"loadbalancer_id": load_balancer_id}
        listeners = self._client.get("/v2.0/lbaas/listeners", query)["listeners"]
        more = [str(each["ip_address"]) for each in row.get("additional_vips") or ()]
        return EvenKeelLoadBalancer(
            id=str(row["id"]),
            name=str(row.get("name") or ""),
            addresses=(str(row["vip_address"]), *more),
            port_id=str(row["vip_port_id"]),
            tcp_port=_tcp_port(listeners) if row.get("admin_state_up", True) else None,
        )

    def hosting(self, load_balancer_id: str) -> HostingState:
        """Return whether the load balancer is held, its status and its environment. Raises
        :class:`ClientError`.
        """
        row = self._client.get(f"{API_PATH}/loadbalancers/{quote_segment(load_balancer_id)}/agent")["hosting"]
        return HostingState(row["held"], row["provisioning_status"], row["status_reason"], row["environment"])

    def set_held(self, load_balancer_id: str, held: bool) -> None:
        """Release the load balancer to its devices (False), or take it from them (True). Idempotent. Raises
        :class:`ClientError`.
        """
        self._client.put(f"{API_PATH}/imports/loadbalancers/{quote_segment(load_balancer_id)}/held", {"held": held})


def _tcp_port(listeners: list[Mapping[str, Any]]) -> int | None:
    usable = [
        int(row["protocol_port"])
        for row in listeners
        if row["protocol"] in _TCP_PROTOCOLS and row.get("admin_state_up", True) and not row.get("allowed_cidrs")
    ]
    return min(usable, default=None)
