"""A stock Octavia API in one process; its own Python runs this file, with a directory, a port and the URL of its SQLite
database as arguments.

Octavia's code answers every request. Around it are: tables from its models in SQLite (in WAL mode if they are in a
file, as ours, which SQLite keeps in the file), its no-op drivers of network and
certificates, Keystone's headers taken from the client instead of from a token, and a device that takes every change
before the answer is sent. What that device reports goes through the code that takes reports of Octavia's driver agent,
so that statuses and times of changes are Octavia's.

A request with the header ``X-Compat-Outcome`` says what the device makes of the change: ``ACTIVE``, ``ERROR`` or
``PENDING`` (it does not report before the next request without that header).
"""

import sqlite3
import sys
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

from octavia.api import app as octavia_app
from octavia.api.drivers.driver_agent.driver_updater import DriverUpdater
from octavia.common import constants, keystone
from octavia.db import api as database
from octavia.db import base_models, models
from octavia.network.drivers.noop_driver import driver as noop_network
from octavia.tests.functional.db.base import OctaviaDBTestBase
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.engine import make_url
from sqlalchemy.pool import SingletonThreadPool

CONFIGURATION = """
[api_settings]
auth_strategy = keystone
enabled_provider_drivers = noop: The no-op driver., other: Another no-op driver.
default_provider_driver = noop
[database]
connection = {database}
[controller_worker]
network_driver = network_noop_driver
[certificates]
cert_manager = noop_cert_manager
[oslo_policy]
enforce_scope = False
[oslo_middleware]
# the default refuses a load balancer that Kubernetes creates in one request, of 10 ports and 100 nodes
max_request_body_size = 1048576
"""
PENDING = (constants.PENDING_CREATE, constants.PENDING_UPDATE, constants.PENDING_DELETE)
RESET = "/compat/reset"
KINDS = {
    "members": models.Member,
    "healthmonitors": models.HealthMonitor,
    "pools": models.Pool,
    "l7rules": models.L7Rule,
    "l7policies": models.L7Policy,
    "listeners": models.Listener,
    "loadbalancers": models.LoadBalancer,
}
"""In the order in which reports are taken."""
Environ = dict[str, Any]
Wsgi = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]


class TrustedHeaders:
    """In the place of Keystone's middleware: the identity headers are the client's."""

    def __init__(self, application: Wsgi, options: object) -> None:
        self._application = application

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        environ["HTTP_X_IDENTITY_STATUS"] = "Confirmed"
        return self._application(environ, start_response)


class Device:
    """Takes changes after each request."""

    def __init__(self, application: Wsgi) -> None:
        self._application = application
        self._updater = DriverUpdater()

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ["PATH_INFO"] == RESET:
            rows_of_start()
            start_response("204 No Content", [])
            return []
        body = list(self._application(environ, start_response))
        outcome = environ.get("HTTP_X_COMPAT_OUTCOME", constants.ACTIVE)
        if outcome != "PENDING":
            answer = self._updater.update_loadbalancer_status(self._report(outcome))
            if answer["status_code"] != 200:
                print(answer, file=sys.stderr, flush=True)
        return body

    def _report(self, outcome: str) -> dict[str, list[dict[str, str]]]:
        """On what is PENDING, and nothing else: a report moves the time of the last change."""
        session = database.get_session()
        with session.begin():
            gone = {row.id for row in session.query(models.LoadBalancer) if row.provisioning_status == "PENDING_DELETE"}
            return {
                kind: [
                    report_on(kind, row, outcome, gone)
                    for row in session.query(model)
                    if row.provisioning_status in PENDING or (kind != "loadbalancers" and owner(row) in gone)
                ]
                for kind, model in KINDS.items()
            }


def owner(row: Any) -> str:
    """The load balancer of anything below one."""
    if hasattr(row, "load_balancer_id"):
        return str(row.load_balancer_id)
    parents = ("pool", "l7policy", "listener")
    return next(owner(getattr(row, name)) for name in parents if getattr(row, name, None) is not None)


def report_on(kind: str, row: Any, outcome: str, gone: set[str]) -> dict[str, str]:
    """Operating statuses are those that Octavia's no-op mode reports."""
    if row.provisioning_status == constants.PENDING_DELETE or (kind != "loadbalancers" and owner(row) in gone):
        return {"id": row.id, "provisioning_status": constants.DELETED}
    report = {"id": row.id, "provisioning_status": outcome}
    if kind in ("healthmonitors", "l7policies", "l7rules"):
        report["operating_status"] = constants.ONLINE if row.enabled else constants.OFFLINE
    return report


class Quiet(WSGIRequestHandler):
    """Writes no access log."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *words: object) -> None:
        pass


def rows_of_start() -> None:
    """Only what Octavia's migrations put into its tables."""
    engine = database.get_engine()
    base_models.BASE.metadata.drop_all(engine)
    base_models.BASE.metadata.create_all(engine)
    session = database.get_session()
    with session.begin():
        OctaviaDBTestBase("_seed_lookup_tables")._seed_lookup_tables(session)


def use_as_we_do(url: str) -> None:
    """Put the file of the database, if it has one, into SQLite's WAL mode, which stays, and keep one connection to it.

    oslo.db (18.1.1) has one connection to a database in memory, and cannot open a file with SQLAlchemy 2.1.
    """
    if file := make_url(url).database:
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
        by_default = SQLiteDialect_pysqlite.get_pool_class
        SQLiteDialect_pysqlite.get_pool_class = staticmethod(
            lambda of: SingletonThreadPool if of.database == file else by_default(of)
        )


def application(directory: Path, url: str) -> Wsgi:
    """The API, ready."""
    use_as_we_do(url)
    engine_at = noop_network.create_engine
    noop_network.create_engine = lambda url: engine_at(f"sqlite:///{directory}/network.db")
    keystone.SkippingAuthProtocol = TrustedHeaders
    file = directory / "octavia.conf"
    file.write_text(CONFIGURATION.format(database=url))
    octavia = octavia_app.setup_app(argv=["octavia-api", "--config-file", str(file)])
    rows_of_start()
    return Device(octavia)


def main() -> None:
    """Serve until killed."""
    directory, port, url = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    server = make_server("127.0.0.1", port, application(directory, url), handler_class=Quiet)
    server.serve_forever()


if __name__ == "__main__":
    main()
