"""A real Designate of our own: its API, central service and worker as threads of one process, SQLite, and a pool whose
only name server confirms every change, unless it is told to wait. It is installed in a virtual environment of its own.
"""

from pathlib import Path

from tests.services.installation import environment
from tests.services.openstack import WSGI_SERVER, OpenStackServer
from tests.services.templates import make_or_copy

VERSION = "23.0.0"
PROJECT = "noauth-project"

_PROGRAM = '''
import socket
import threading
import time

import dns.flags
import dns.message
import dns.opcode
import dns.rrset
import oslo_service.backend

HOME = os.environ["HOME"]
POOL = "794ccc2c-d751-44fe-b57f-8894c9f5c842"
oslo_service.backend.init_backend(oslo_service.backend.BackendType.THREADING)  # before anything else is imported

import designate.conf
import oslo_messaging
from paste import deploy
from sqlalchemy import event
from sqlalchemy.engine import Engine

designate.conf.CONF([], project="designate", default_config_files=[HOME + "/designate.conf"])
oslo_messaging.set_transport_defaults("designate")

from designate.central import rpcapi
from designate.central.service import Service as Central
from designate.context import DesignateContext
from designate.objects.adapters import DesignateAdapter
from designate.producer.tasks import PeriodicIncrementSerialTask
from designate.worker.service import Service as Worker


# SQLite refuses a transaction that has read and then writes beside another one: these wait for each other.
@event.listens_for(Engine, "connect")
def waits(connection, _record):
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA busy_timeout = 20000")


@event.listens_for(Engine, "before_cursor_execute", retval=True)
def begin_alone(_connection, _cursor, statement, parameters, _context, _many):
    return "BEGIN IMMEDIATE" if statement == "BEGIN" else statement, parameters


def name_server(sock):
    """Confirms every serial number; none while there is the file "waits"."""
    while True:
        wire, peer = sock.recvfrom(4096)
        query = dns.message.from_wire(wire)
        answer = dns.message.make_response(query)
        answer.flags |= dns.flags.AA
        if query.opcode() == dns.opcode.QUERY:
            serial = 0 if os.path.exists(HOME + "/waits") else 2**32 - 1
            soa = f"ns.example. host.example. {serial} 1 1 1 1"
            answer.answer.append(dns.rrset.from_text(query.question[0].name, 60, "IN", "SOA", soa))
        sock.sendto(answer.to_wire(), peer)


def increment():
    """What its producer does every five seconds: lets the worker bring changed zones to the name servers."""
    task = PeriodicIncrementSerialTask()
    task.on_partition_change(range(4096), None, None)
    while True:
        task()
        time.sleep(0.1)


sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.bind(("127.0.0.1", 0))
port = sock.getsockname()[1]
threading.Thread(target=name_server, args=(sock,), daemon=True).start()
for service in (Central(), Worker()):
    service.init_host()
api, context = rpcapi.CentralAPI.get_instance(), DesignateContext.get_admin_context()
here = {"host": "127.0.0.1", "port": port}
target = {"type": "fake", "description": "", "masters": [here], "options": here}
pool = {
    "id": POOL,
    "name": "default",
    "description": "",
    "attributes": {},
    "ns_records": [{"hostname": "ns.example.", "priority": 1}],
    "nameservers": [here],
    "targets": [target],
}
api.update_pool(context, DesignateAdapter.parse("YAML", pool, api.get_pool(context, POOL)))
threading.Thread(target=increment, daemon=True).start()
serve(deploy.loadapp("config:" + HOME + "/paste.ini", name="main"))
'''

_PASTE = """
[composite:main]
use = egg:Paste#urlmap
/: versions
/v2: api
[pipeline:versions]
pipeline = faultwrapper versionsapp
[app:versionsapp]
paste.app_factory = designate.api.versions:factory
[pipeline:api]
pipeline = request_id faultwrapper validation noauth normalizeuri apiapp
[app:apiapp]
paste.app_factory = designate.api.v2:factory
[filter:request_id]
paste.filter_factory = oslo_middleware:RequestId.factory
[filter:faultwrapper]
paste.filter_factory = designate.api.middleware:FaultWrapperMiddleware.factory
[filter:validation]
paste.filter_factory = designate.api.middleware:APIv2ValidationErrorMiddleware.factory
[filter:noauth]
paste.filter_factory = designate.api.middleware:NoAuthContextMiddleware.factory
[filter:normalizeuri]
paste.filter_factory = designate.api.middleware:NormalizeURIMiddleware.factory
"""

_CONFIGURATION = """
[DEFAULT]
transport_url = fake:/
state_path = {home}
[oslo_messaging_notifications]
driver = noop
[service:api]
auth_strategy = noauth
enable_host_header = true
[service:worker]
poll_delay = 0
poll_retry_interval = 1
poll_timeout = 1
threads = 8
[storage:sqlalchemy]
connection = sqlite:///{home}/designate.db
"""


def installed() -> Path:
    """The virtual environment that it is in. Raises :class:`NotInstallable`."""
    return environment("designate", VERSION, [f"designate=={VERSION}"], compiled=False)


class DesignateServer(OpenStackServer):
    """One Designate that believes everybody."""

    start_seconds = 180.0

    def __init__(self, venv: Path) -> None:
        super().__init__("evenkeel-designate-")
        self._programs = venv / "bin"
        (self._home / "serve.py").write_text(WSGI_SERVER + _PROGRAM)
        (self._home / "paste.ini").write_text(_PASTE)
        (self._home / "designate.conf").write_text(_CONFIGURATION.format(home=self._home))

    def start(self) -> None:
        """Make its database, start and wait until clients are served; nothing to do if it runs."""
        if self.running:
            return
        if not (database := self._home / "designate.db").exists():
            make_or_copy(database, self._make_database, name="designate-database", made_by=(VERSION,))
        self._begin([self._programs / "python", self._home / "serve.py"])

    def let_wait(self, waits: bool) -> None:
        """Whether its name server lets changes wait."""
        (self._home / "waits").touch() if waits else (self._home / "waits").unlink(missing_ok=True)

    def clouds_file(self) -> Path:
        """A clouds.yaml in which it is the cloud ``dns``."""
        file = self._home / "clouds.yaml"
        file.write_text(f"clouds: {{dns: {{auth_type: none, auth: {{endpoint: '{self.url}/'}}}}}}\n")
        return file

    def _make_database(self) -> None:
        self._run(
            self._programs / "designate-manage", "--config-file", self._home / "designate.conf", "database", "sync"
        )
