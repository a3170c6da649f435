"""A real Neutron with its RPC server, on a real RabbitMQ."""

from typing import NamedTuple

import pytest
from openstack.connection import Connection

from tests.network.conftest import neutron_bus, neutron_place, neutron_url, session_to

__all__ = ["Site", "neutron_bus", "neutron_place", "neutron_url", "site"]


class Site(NamedTuple):
    """Where they are."""

    url: str
    bus: str

    @property
    def neutron(self) -> Connection:
        """An operator's access."""
        return Connection(session=session_to(self.url))


@pytest.fixture(scope="session")
def site(neutron_url: str, neutron_bus: str) -> Site:
    """With a message bus."""
    return Site(neutron_url, neutron_bus)
