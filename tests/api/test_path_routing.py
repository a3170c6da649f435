"""Proxies configured as the documentation says serve the APIs of controllers and of Neutron at one address."""

import json
import os
import re
import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import openstack
import pytest

from evenkeel.demo.authority import CertificateAuthority
from tests.api import bodies
from tests.api.stack import GREEN, Stack
from tests.services.process import Server

PAGE = Path(__file__).parents[2] / "docs/how-to/route-by-path.md"
TOKEN = "a-token-of-keystone"
MODULES = "/usr/lib/apache2/modules"
APACHE_MODULES = (
    *("mpm_event", "authz_core", "proxy", "proxy_http", "proxy_balancer"),
    *("lbmethod_byrequests", "slotmem_shm", "headers", "ssl"),
)


def block(language: str) -> str:
    """The page's configuration in this language."""
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    return str(found)


class Proxy(Server):
    """A proxy with the page's configuration."""

    start_seconds = 60.0

    def __init__(self, kind: str, places: Mapping[str, str]) -> None:
        super().__init__(f"evenkeel-{kind}-")
        self._kind = kind
        authority = CertificateAuthority()
        self.tls = authority.client_context()
        self.url = f"https://localhost:{self.port}"
        issued = authority.issue("localhost")
        certificate, key, both = (self.home / name for name in ("cloud.pem", "cloud.key", "both.pem"))
        certificate.write_text(issued.certificate)
        key.write_text(issued.private_key)
        both.write_text(issued.certificate + issued.private_key)
        files = {"cloud-and-key.pem": both, "cloud.pem": certificate, "cloud.key": key}
        text = block({"nginx": "nginx", "haproxy": "haproxy", "apache2": "apache"}[kind])
        for name, place in places.items():
            text = text.replace(name, place)
        for name, file in files.items():
            text = text.replace(f"/etc/ssl/{name}", str(file))
        for port in ("listen 443", "bind :443", "*:443"):
            text = text.replace(port, port.replace("443", str(self.port)))
        self._text = text

    def start(self) -> None:
        file = self.home / "configuration"
        file.write_text({"nginx": self._in_nginx, "apache2": self._in_apache}.get(self._kind, lambda: self._text)())
        program = shutil.which(self._kind, path=f"{os.environ['PATH']}:/usr/sbin")
        assert program is not None
        self._begin(
            {
                "nginx": [program, "-p", self.home, "-c", file],
                "haproxy": [program, "-db", "-f", file],
                "apache2": [program, "-DFOREGROUND", "-d", self.home, "-f", file],
            }[self._kind]
        )

    def _in_nginx(self) -> str:
        paths = "".join(
            f"    {name}_temp_path {self.home}/{name};\n"
            for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        head = f"daemon off;\nuser root;\nworker_processes 1;\npid {self.home}/pid;\nerror_log stderr;\nevents {{}}\n"
        return f"{head}http {{\n    access_log off;\n{paths}{self._text}}}\n"

    def _in_apache(self) -> str:
        loaded = "".join(f"LoadModule {name}_module {MODULES}/mod_{name}.so\n" for name in APACHE_MODULES)
        places = f"PidFile {self.home}/pid\nErrorLog {self.home}/errors\nDefaultRuntimeDir {self.home}\n"
        who = "User nobody\nGroup nogroup\n"
        return f"{loaded}{places}{who}ServerName localhost\nListen {self.port}\n{self._text}"

    def _serves(self) -> bool:
        try:
            return httpx.get(f"{self.url}/nothing", verify=self.tls, timeout=5.0).status_code == 404
        except httpx.TransportError:
            return False

    def _environment(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}


class _Neutron(BaseHTTPRequestHandler):
    """Answers each request with its method, path and token."""

    def do_GET(self) -> None:
        """Answer."""
        body = json.dumps({"path": self.path, "token": self.headers.get("X-Auth-Token")}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Log nothing."""


@contextmanager
def neutron() -> Iterator[str]:
    """Address of a server in Neutron's place."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Neutron)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def listed(url: str) -> list[str]:
    """Names of the load balancers that openstacksdk lists, page by page."""
    connection = openstack.connect(
        load_envvars=False, load_yaml_config=False, auth_type="none", auth={"endpoint": url}, verify=False
    )
    try:
        return [each.name for each in connection.load_balancer.load_balancers(limit=1)]
    finally:
        connection.close()


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning", "ignore:Unverified HTTPS request")
@pytest.mark.parametrize("kind", ["nginx", "haproxy", "apache2"])
def test_one_address_serves_octavias_api_lbaas_and_neutron(tmp_path: Path, kind: str) -> None:
    if shutil.which(kind, path=f"{os.environ['PATH']}:/usr/sbin") is None:
        pytest.skip(f"{kind} is not installed")
    with Stack.started(tmp_path, controllers=2) as stack, neutron() as place:
        controllers = [urlsplit(url).netloc for url in stack.urls]
        places = {f"controller-{number}.example.net:9876": each for number, each in enumerate(controllers, 1)}
        proxy = Proxy(kind, {**places, "neutron.example.net:9696": place})
        try:
            proxy.start()
            with httpx.Client(base_url=proxy.url, verify=proxy.tls, timeout=60.0) as client:
                _check_paths(client, proxy.url)
                stack.kill_controller(1)
                _check_requests_go_to_the_other_controller(client)
        finally:
            proxy.close()


def _check_paths(client: httpx.Client, url: str) -> None:
    versions = client.get("/load-balancer/").json()["versions"]
    assert {link["href"] for each in versions for link in each["links"]} == {f"{url}/load-balancer/v2"}
    for name in ("a", "b"):
        body = bodies.load_balancer(name=name, vip_subnet_id=GREEN.id)
        assert client.post("/load-balancer/v2.0/lbaas/loadbalancers", json=body).status_code == 201
    assert sorted(listed(f"{url}/load-balancer")) == ["a", "b"]
    # links to further pages of LBaaS lead here, too
    page = client.get("/networking/v2.0/lbaas/loadbalancers?limit=1").json()
    (link,) = (each["href"] for each in page["loadbalancers_links"] if each["rel"] == "next")
    names = [each["loadbalancers"][0]["name"] for each in (page, client.get(link).json())]
    assert sorted(names) == ["a", "b"] and link.startswith(f"{url}/networking/")
    assert client.get("/networking/v2.0/lb/vips.json").json() == {"vips": []}
    for path in ("/v2.0/ports?limit=3", "/v2.0/lbaasother", "/v2.0/agents/x/l3-routers", "/"):
        answer = client.get(f"/networking{path}", headers={"X-Auth-Token": TOKEN}).json()
        assert answer == {"path": path, "token": TOKEN}
    assert client.get("/networking").json()["path"] == "/"
    large = bodies.load_balancer(name="c", description="x" * 255, tags=["t" * 250] * 2000)
    assert "tags" in client.post("/load-balancer/v2.0/lbaas/loadbalancers", json=large).json()["faultstring"]
    for path in (
        "/load-balancer/evenkeel/v1/agents",
        "/evenkeel/v1/agents",
        "/load-balancer/v2/%2e%2e/evenkeel/v1/agents",
    ):
        assert client.get(path).status_code in (400, 404)


def _check_requests_go_to_the_other_controller(client: httpx.Client) -> None:
    """Neither reads nor writes fail while one of two controllers can't be reached."""
    for number in range(8):
        body = bodies.load_balancer(name=f"more-{number}", vip_subnet_id=GREEN.id)
        assert client.post("/load-balancer/v2/lbaas/loadbalancers", json=body).status_code == 201
        assert client.get("/networking/v2.0/lbaas/loadbalancers").status_code == 200
