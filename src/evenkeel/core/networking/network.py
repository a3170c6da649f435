"""Ports at a network service: of VIPs, and of addresses of devices. A :class:`PortClaim` is stored before a
port is created outside the database, so that the port is found and released whichever process fails in
between.
"""

from evenkeel.core.kit.backoff import Backoff
from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.kit.values import Value

RETRY = Backoff(initial_seconds=5.0, max_seconds=300.0)
"""Delays between retries of calls to the network service."""


class PortMark(Value):
    """Name, owner and device id by which a port at the network service is recognised as that of a VIP or of a
    device address.
    """

    name: str
    device_owner: str
    device_id: str


def octavia_port_mark(load_balancer_id: LoadBalancerId) -> PortMark:
    """Return name, owner and device id of a VIP's port as Octavia sets them."""
    return PortMark(name=f"octavia-lb-{load_balancer_id}", device_owner="Octavia", device_id=f"lb-{load_balancer_id}")


def lbaas_v2_port_mark(load_balancer_id: LoadBalancerId) -> PortMark:
    """Return name, owner and device id of a VIP's port as LBaaS v2 sets them."""
    return PortMark(
        name=f"loadbalancer-{load_balancer_id}", device_owner="neutron:LOADBALANCERV2", device_id=load_balancer_id
    )


def lbaas_v1_port_mark(vip_id: str) -> PortMark:
    """Return name, owner and device id of a VIP's port as LBaaS v1 sets them."""
    return PortMark(name=f"vip-{vip_id}", device_owner="neutron:LOADBALANCER", device_id=vip_id)


def device_port_mark(claim_id: str, name: str) -> PortMark:
    """Return name, owner and device id of the port of a device address.

    Neutron trusts ports whose owner begins with ``network:``: no security group applies to them, and tenants can
    neither make nor change such ports.
    """
    return PortMark(name=name, device_owner="network:evenkeel", device_id=claim_id)


def port_mark_by_owner(device_owner: str, device_id: str) -> PortMark:
    """Return name, owner and device id of the port of a VIP that was created with this owner and device id;
    the name is that of Octavia, LBaaS v1 or LBaaS v2 (any other owner).
    """
    name = {"Octavia": f"octavia-{device_id}", "neutron:LOADBALANCER": f"vip-{device_id}"}
    return PortMark(
        name=name.get(device_owner, f"loadbalancer-{device_id}"), device_owner=device_owner, device_id=device_id
    )


ADDITIONAL_ADDRESS = "additional_vips.ip_address"
"""Name of the attribute in errors about an additional address."""
ADDITIONAL_SUBNET = "additional_vips.subnet_id"
"""Name of the attribute in errors about the subnet of an additional address."""


class WantedVip(Value):
    """An additional address that a load balancer requests."""

    subnet_id: str
    address: str | None = None
    """Requested IP address; None: any free one of the subnet."""


class PortOptions(Value):
    """Options of a VIP's port, other than its addresses."""

    qos_policy_id: str | None = None
    security_group_ids: tuple[str, ...] | None = ()
    """Ids of the port's security groups. Empty: the network service's default. None: unchanged."""
    vnic_type: str = "normal"
    """VNIC type of the port; fixed when the port is created."""
    binding_host: str | None = None
    """Host of the devices: the port is bound to it, and its administrative state is set to up. Empty: the port is
    unbound. None: unchanged.
    """


NO_OPTIONS = PortOptions()


class MissingVipPort(Value):
    """A VIP's port that no longer exists at the network service, with the facts needed to recreate it."""

    project_id: ProjectId
    network_id: str
    addresses: tuple[tuple[str, str], ...]
    """Pairs (subnet id, address) of the VIP and of additional VIPs."""
    mark: PortMark


class VipPortId(Value):
    """The id of the port of a load balancer's VIP."""

    load_balancer_id: LoadBalancerId
    port_id: str


class PortToUpdate(Value):
    """A port that has to be updated at the network service."""

    load_balancer_id: LoadBalancerId
    revision: int
    """Revision of the load balancer by which the port's options changed last."""
    port_id: str
    options: PortOptions
    lost: MissingVipPort | None = None
    """The lost port that has to be recreated first; None: the port exists."""


PORT_BEING_CREATED = "port_being_made"
"""Code of the conflict if the claim exists already: the port was, or is being, created for another request."""


class PortClaim(Value):
    """Record of a port that may exist at a network service, stored before the port is created, so that it can be found
    and deleted whichever process fails.
    """

    claim_id: str
    """Id of the load balancer or LBaaS v1 vip whose VIP has the port; for a port of devices, an id of its own."""
    device_owner: str
    device_id: str
    """``device_id`` of the port. Owner and device id find the port if its id was never stored."""
    port_id: str | None = None
    """Id of the port; None until the object that uses the port was stored."""

    @property
    def borrowed(self) -> bool:
        """True if the port is the tenant's own: when the load balancer ends, the port is unbound, not
        deleted.
        """
        return not self.device_owner


def borrowed_port_claim(load_balancer_id: LoadBalancerId, port_id: str) -> PortClaim:
    """Return a claim on a VIP's port that its tenant created: the port is bound to the devices, and unbound with the
    end of the load balancer, not deleted.
    """
    return PortClaim(claim_id=load_balancer_id, device_owner="", device_id="", port_id=port_id)


class DeviceBinding(Value):
    """The port of a device address, and the host to which it is to be bound."""

    claim_id: str
    port_id: str
    host: str


class DueClaim(Value):
    """A claim whose port is to be deleted: the object that used the port is gone, or was never stored."""

    claim: PortClaim
    age_seconds: float
    """Seconds since the claim was stored."""
    attempts: int
    """Number of attempts to delete the port, including this one."""
