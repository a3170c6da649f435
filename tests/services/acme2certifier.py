"""A real ACME server of our own, acme2certifier: SQLite, a certificate authority in files, HTTPS, validation by http-01
through a name server of the tests. It is installed in a virtual environment of its own."""

import json
import socket
import sqlite3
import ssl
from collections.abc import Mapping
from pathlib import Path

import trustme

from tests.services.installation import environment
from tests.services.process import Server

VERSION = "0.46.3"

_PROGRAM = """
import os, ssl, sys
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIServer, make_server
from acme2certifier.share.acme2certifier_wsgi import application, get_handler_cls
class Threads(ThreadingMixIn, WSGIServer):
    daemon_threads = True
def secure(environ, start_response):
    # it makes URLs from this header
    return application({**environ, "HTTP_X_FORWARDED_PROTO": "https", "wsgi.url_scheme": "https"}, start_response)
home, port = os.environ["HOME"], int(sys.argv[1])
server = make_server("127.0.0.1", port, secure, server_class=Threads, handler_class=get_handler_cls())
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(home + "/server.pem")
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
"""

_CONFIGURATION = """
[DEFAULT]
debug: False
[CAhandler]
handler_module: acme2certifier.cahandlers.openssl_ca_handler
issuing_ca_key: {home}/ca.key
issuing_ca_cert: {home}/ca.pem
issuing_ca_crl: {home}/ca.crl
cert_save_path: {home}/issued
cert_validity_days: 30
[DBhandler]
handler: wsgi
dbfile: {home}/acme.db
{eab}
[Challenge]
{challenge}
dns_server_list: ["{name_server}"]
http01_block_private_ips: False
"""

# The section alone, empty, makes it refuse every account.
_EAB = """[EABhandler]
eab_handler_module: acme2certifier.eabhandlers.json_handler
key_file: {home}/eab.json"""

# Without it the server validates challenges, whatever its configuration says.
_NO_VALIDATION = {"ACME2CERTIFIER_I_KNOW_THE_RISK": "1"}


def installed() -> Path:
    """The virtual environment that it is in. Raises :class:`NotInstallable`."""
    return environment("acme2certifier", VERSION, [f"acme2certifier=={VERSION}"])


class Acme2Certifier(Server):
    """One server. ``name_server``: address of the name server, on port 53, that it resolves names by; None: challenges
    are not validated. ``external_keys``: HMAC keys of External Account Binding by identifier; with any, it is required.
    """

    start_seconds = 120.0

    def __init__(self, venv: Path, name_server: str | None, external_keys: Mapping[str, str] | None = None) -> None:
        super().__init__("evenkeel-acme2certifier-")
        self._venv = venv
        authority, web = trustme.CA(), trustme.CA()
        authority.private_key_pem.write_to_path(self._home / "ca.key")
        authority.cert_pem.write_to_path(self._home / "ca.pem")
        web.cert_pem.write_to_path(self.ca_file)
        web.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(self._home / "server.pem")
        (self._home / "program.py").write_text(_PROGRAM)
        (self._home / "acme_srv.cfg").write_text(
            _CONFIGURATION.format(
                home=self._home,
                name_server=name_server or "127.0.0.1",
                challenge="" if name_server else "challenge_validation_disable: True",
                eab=_EAB.format(home=self._home) if external_keys else "",
            )
        )
        (self._home / "eab.json").write_text(json.dumps(dict(external_keys or {})))
        (self._home / "issued").mkdir()

    @property
    def directory_url(self) -> str:
        """URL of the ACME directory."""
        return f"https://127.0.0.1:{self.port}/directory"

    @property
    def ca_file(self) -> Path:
        """CA certificate of its own HTTPS server; not that of the certificates that it issues."""
        return self._home / "web-ca.pem"

    def client_context(self) -> ssl.SSLContext:
        """TLS context of a client that trusts only the certificates that it issues."""
        return ssl.create_default_context(cafile=str(self._home / "ca.pem"))

    def start(self) -> None:
        """Start and wait until clients are served; nothing to do if it runs."""
        if not self.running:
            self._begin([self._venv / "bin" / "python", self._home / "program.py", str(self.port)])

    def orders(self) -> list[str]:
        """Statuses of all orders that it ever had."""
        with sqlite3.connect(f"file:{self._home}/acme.db?mode=ro", uri=True) as database:
            rows = database.execute(
                "SELECT status.name FROM orders JOIN status ON status.id = orders.status_id ORDER BY orders.id"
            )
            return [name for (name,) in rows]

    def _serves(self) -> bool:
        try:
            context = ssl.create_default_context(cafile=str(self.ca_file))
            with (
                socket.create_connection(("127.0.0.1", self.port), timeout=5) as raw,
                context.wrap_socket(raw, server_hostname="127.0.0.1"),
            ):
                return True
        except OSError:
            return False

    def _environment(self) -> dict[str, str]:
        home = str(self._home)
        return {
            "PATH": "/usr/bin:/bin",
            "HOME": home,
            "LANG": "C.UTF-8",
            "ACME_SRV_CONFIGFILE": f"{home}/acme_srv.cfg",
            **_NO_VALIDATION,
        }
