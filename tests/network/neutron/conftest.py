"""What is in the Neutron."""

from collections.abc import Iterator
from typing import Any

import pytest
from openstack.connection import Connection

CIDR = "10.0.0.0/24"


class Cloud:
    """Networks of projects that a test makes, each with the subnet 10.0.0.0/24."""

    def __init__(self, neutron: Connection) -> None:
        self.neutron: Any = neutron.network
        self.made: list[Any] = []

    def network(self, project_id: str, *, cidr: str = CIDR, **how: Any) -> tuple[str, str]:
        """Its id and its subnet's."""
        network = self.neutron.create_network(name="net", project_id=project_id, **how)
        self.made.append(network)
        subnet = self.neutron.create_subnet(
            network_id=network.id, ip_version=4, cidr=cidr, project_id=project_id, name="subnet"
        )
        return network.id, subnet.id

    def addresses(self, network_id: str, device_owner: str) -> set[str]:
        """Of ports."""
        ports = self.neutron.ports(network_id=network_id, device_owner=device_owner)
        return {fixed["ip_address"] for port in ports for fixed in port.fixed_ips}

    def member(self, network_id: str, address: str) -> Any:
        """A server's port."""
        return self.neutron.create_port(network_id=network_id, fixed_ips=[{"ip_address": address}])


@pytest.fixture
def cloud(neutron: Connection) -> Iterator[Cloud]:
    made = Cloud(neutron)
    yield made
    for network in made.made:
        for port in made.neutron.ports(network_id=network.id):
            made.neutron.delete_port(port)
        made.neutron.delete_network(network)
