"""What the OpenStack servers of tests share: a WSGI server in one process with threads, and how they believe a
Keystone."""

import urllib.error
import urllib.request
from collections.abc import Mapping

from tests.services.process import Server

WSGI_SERVER = """
import os
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server


class Threads(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class Quiet(WSGIRequestHandler):
    def log_message(self, *words):
        pass


def serve(application):
    make_server("127.0.0.1", int(os.environ["PORT"]), application, Threads, Quiet).serve_forever()
"""
"""The beginning of a server's program; ``serve`` never returns."""

_LOGIN = """\
auth_url = {url}
auth_type = password
username = admin
password = {password}
user_domain_id = default
"""
_PROJECT = """\
project_name = admin
project_domain_id = default
"""


def login(url: str, password: str) -> str:
    """Options of the user ``admin`` at this Keystone."""
    return _LOGIN.format(url=url, password=password)


def keystone_authtoken(url: str, password: str) -> str:
    """The section that keystonemiddleware reads."""
    return f"\n[keystone_authtoken]\nwww_authenticate_uri = {url}\n{login(url, password)}{_PROJECT}"


class OpenStackServer(Server):
    """One process that answers HTTP on :attr:`port`."""

    @property
    def url(self) -> str:
        """Its endpoint."""
        return f"http://127.0.0.1:{self.port}"

    def _asked(self) -> str | urllib.request.Request:
        """What it answers when it serves."""
        return self.url

    def _serves(self) -> bool:
        try:
            urllib.request.urlopen(self._asked(), timeout=20.0).close()
        except urllib.error.HTTPError as error:
            error.close()
            return error.code < 400  # 300: it lists its versions
        except (urllib.error.URLError, OSError):
            return False
        return True

    def _more_environment(self) -> Mapping[str, str]:
        return {}

    def _environment(self) -> dict[str, str]:
        plain = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}
        return {**plain, "HOME": str(self._home), "PORT": str(self.port), **self._more_environment()}
