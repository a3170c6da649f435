"""A real Neutron, shared by all workers of the run, and networks of a test's own in it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from keystoneauth1.noauth import NoAuth
from keystoneauth1.session import Session
from openstack.connection import Connection

from tests.network.neutron_server.sharing import NeutronPlace, shared_neutron
from tests.services import mariadb
from tests.services.installation import NotInstallable

NEEDS_NEUTRON = [
    pytest.mark.services,
    pytest.mark.timeout(3600),  # the first one waits for the installation and the start
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),  # the SDK's, of itself
]


@pytest.fixture(scope="session")
def neutron_place(shared_servers: Path) -> Iterator[NeutronPlace]:
    """A running Neutron; ``EVENKEEL_TEST_NEUTRON_URL`` names one that is there (and asks nobody who they are), and
    ``EVENKEEL_TEST_NEUTRON_BUS`` its message bus. Else one is started, and the first time installed: some minutes."""
    if given := os.environ.get("EVENKEEL_TEST_NEUTRON_URL"):
        yield NeutronPlace(given, os.environ.get("EVENKEEL_TEST_NEUTRON_BUS", ""))
        return
    if reason := mariadb.missing():
        pytest.skip(reason)
    try:
        with shared_neutron(shared_servers) as place:
            yield place
    except NotInstallable as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def neutron_url(neutron_place: NeutronPlace) -> str:
    """The root of its API."""
    return neutron_place.url


@pytest.fixture(scope="session")
def neutron_bus(neutron_place: NeutronPlace) -> str:
    """The oslo.messaging transport by which it speaks to agents."""
    pytest.importorskip("oslo_messaging")
    if not neutron_place.bus:
        pytest.skip("this Neutron has no message bus: RabbitMQ is not installed, or EVENKEEL_TEST_NEUTRON_BUS not set")
    return neutron_place.bus


def session_to(url: str) -> Session:
    """As the product logs in with ``auth_type = none``."""
    return Session(auth=NoAuth(endpoint=url), timeout=60)


@pytest.fixture
def neutron(neutron_url: str) -> Connection:
    """An operator's access to it."""
    return Connection(session=session_to(neutron_url))
