"""The address pool that tests take VIPs from."""

from evenkeel.core.resources.model import Subnet
from tests.api import bodies

SUBNET = Subnet(
    id=bodies.SUBNET_ID,
    network_id="7a2f3c3e-9f61-4b0a-8a8e-6d1c5a8f0b02",
    name="blue",
    cidr="10.10.0.0/16",
    gateway_ip="10.10.0.1",
    allocation_start="10.10.0.10",
    allocation_end="10.10.255.200",
)
