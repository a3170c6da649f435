"""What a network service holds for load balancers: ports for VIPs, and the segments that devices are attached to.

What is taken outside the database is written down first, as a :class:`VipClaim`: so it is found again and given back
whatever dies in between.
"""

from evenkeel.core.backoff import Backoff
from evenkeel.core.ids import LoadBalancerId
from evenkeel.core.values import Value

RETRY = Backoff(initial_seconds=5.0, max_seconds=300.0)
"""Between two tries at what the network service could not be told."""


class VipPort(Value):
    """How the port of a VIP is marked, so that people and programs see whose it is."""

    name: str
    device_owner: str
    device_id: str


def octavia_port(load_balancer_id: LoadBalancerId) -> VipPort:
    """As Octavia marks it."""
    return VipPort(name=f"octavia-lb-{load_balancer_id}", device_owner="Octavia", device_id=f"lb-{load_balancer_id}")


def lbaas_v2_port(load_balancer_id: LoadBalancerId) -> VipPort:
    """As LBaaS v2 marked it."""
    return VipPort(
        name=f"loadbalancer-{load_balancer_id}", device_owner="neutron:LOADBALANCERV2", device_id=load_balancer_id
    )


def lbaas_v1_port(vip_id: str) -> VipPort:
    """As LBaaS v1 marked it."""
    return VipPort(name=f"vip-{vip_id}", device_owner="neutron:LOADBALANCER", device_id=vip_id)


class WantedVip(Value):
    """An additional address that a load balancer is to have."""

    subnet_id: str
    address: str | None = None
    """None: any free one."""


class PortOptions(Value):
    """What the port of a VIP is to have besides its addresses."""

    qos_policy_id: str | None = None
    security_group_ids: tuple[str, ...] | None = ()
    """Empty: what the network service gives to every port. None: those that the port has."""
    vnic_type: str = "normal"
    """Fixed when the port is made."""


NO_OPTIONS = PortOptions()


class DuePort(Value):
    """A port that the network service is to be told about."""

    load_balancer_id: LoadBalancerId
    revision: int
    """Of the load balancer, by which its port was changed last."""
    port_id: str
    options: PortOptions


class VipClaim(Value):
    """What may have been taken outside the database for one load balancer."""

    load_balancer_id: LoadBalancerId
    device_owner: str
    device_id: str
    """With the owner it finds the port again when its id never became known."""
    port_id: str | None = None
    """Known once the load balancer was stored."""


class DueClaim(Value):
    """A claim whose load balancer is gone, or was never stored: to be given back."""

    claim: VipClaim
    age_seconds: float
    """Since it was written down."""
    attempts: int
    """Including this one."""


class Segment(Value):
    """What a device needs to know to be attached to a network."""

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
