"""A stock Octavia with its own provider ``amphora``, of which only the API runs: nobody takes its workers' messages.

What it has accepted becomes ACTIVE by :meth:`AmphoraOctavia.settle`, as if its workers had made amphorae of it.
"""

from collections.abc import Mapping
from pathlib import Path

from tests.services.octavia import Octavia

PROVIDER = "amphora"
_SETTLED = """
import sys
from octavia.common import config
from octavia.db import api, models

config.init(["--config-file", sys.argv[1]])
kinds = [models.LoadBalancer, models.Listener, models.Pool, models.Member]
kinds += [models.HealthMonitor, models.L7Policy, models.L7Rule]
with api.session().begin() as session:
    for kind in kinds:
        rows = session.query(kind).filter(kind.provisioning_status == "PENDING_CREATE")
        rows.update({"provisioning_status": "ACTIVE", "operating_status": "ONLINE"})
    # the no-op network says another one each time
    session.query(models.Vip).update({"network_id": sys.argv[2]})
"""

_STATUS = """
import sys
from octavia.common import config
from octavia.db import api, models

config.init(["--config-file", sys.argv[1]])
with api.session().begin() as session:
    for id_, status in zip(sys.argv[2::2], sys.argv[3::2]):
        rows = session.query(models.LoadBalancer).filter(models.LoadBalancer.id == id_)
        rows.update({"provisioning_status": status})
"""


class AmphoraOctavia(Octavia):
    """The API of one host. ``database``: URL of an empty database of MariaDB."""

    def __init__(self, venv: Path, database: str, *, workers: int = 2) -> None:
        super().__init__(
            venv, database, environments={"evenkeel": "none"}, options={}, more_drivers=(PROVIDER,), workers=workers
        )
        with self.configuration.open("a") as file:
            file.write("\n[DEFAULT]\ntransport_url = fake://\n")

    def start_driver_agent(self) -> None:
        """Start nothing: no provider reports here."""

    def settle(self, network_id: str) -> None:
        """Make everything that was created ACTIVE, and its VIPs be on this network."""
        self.run(_SETTLED, network_id)

    def set_statuses(self, statuses: Mapping[str, str]) -> None:
        """Give load balancers provisioning statuses, by id."""
        self.run(_STATUS, *(word for pair in statuses.items() for word in pair))
