"""Resources of a network service: ports of VIPs, and the segments to which devices are attached.

A :class:`VipClaim` is stored before a resource is created outside the database, so that it is found and released
whichever process fails in between.
"""

from evenkeel.core.backoff import Backoff
from evenkeel.core.ids import LoadBalancerId
from evenkeel.core.values import Value

RETRY = Backoff(initial_seconds=5.0, max_seconds=300.0)
"""Delays between retries of calls to the network service."""


class VipPort(Value):
    """The attributes that mark a port as that of a VIP."""

    name: str
    device_owner: str
    device_id: str


def octavia_port(load_balancer_id: LoadBalancerId) -> VipPort:
    """Octavia's marks."""
    return VipPort(name=f"octavia-lb-{load_balancer_id}", device_owner="Octavia", device_id=f"lb-{load_balancer_id}")


def lbaas_v2_port(load_balancer_id: LoadBalancerId) -> VipPort:
    """LBaaS v2's marks."""
    return VipPort(
        name=f"loadbalancer-{load_balancer_id}", device_owner="neutron:LOADBALANCERV2", device_id=load_balancer_id
    )


def lbaas_v1_port(vip_id: str) -> VipPort:
    """LBaaS v1's marks."""
    return VipPort(name=f"vip-{vip_id}", device_owner="neutron:LOADBALANCER", device_id=vip_id)


class WantedVip(Value):
    """An additional address that a load balancer is to have."""

    subnet_id: str
    address: str | None = None
    """None: any free one."""


class PortOptions(Value):
    """Options of the port of a VIP, other than its addresses."""

    qos_policy_id: str | None = None
    security_group_ids: tuple[str, ...] | None = ()
    """Empty: the network service's default. None: unchanged."""
    vnic_type: str = "normal"
    """Fixed when the port is made."""


NO_OPTIONS = PortOptions()


class DuePort(Value):
    """A port that has to be updated at the network service."""

    load_balancer_id: LoadBalancerId
    revision: int
    """The load balancer's revision that changed the port last."""
    port_id: str
    options: PortOptions


class VipClaim(Value):
    """A record of the port that may exist outside the database for one load balancer."""

    load_balancer_id: LoadBalancerId
    device_owner: str
    device_id: str
    """With the owner it finds the port if its id never became known."""
    port_id: str | None = None
    """Known once the load balancer was stored."""


class DueClaim(Value):
    """A claim to release: its load balancer is gone, or was never stored."""

    claim: VipClaim
    age_seconds: float
    """Since it was stored."""
    attempts: int
    """Including this one."""


class Segment(Value):
    """The parameters that attach a device to a network."""

    network_id: str
    subnet_id: str
    cidr: str
    gateway_ip: str | None = None
    mtu: int | None = None
    """Bytes; None: not known."""
    network_type: str | None = None
    """``vlan``, ``vxlan``, ``gre``, ``flat``, ``local``…; None: the devices are attached already."""
    physical_network: str | None = None
    segmentation_id: int | None = None
    """VLAN id, VNI or tunnel key; None for types that have none."""
