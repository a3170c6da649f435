"""A transport that answers as a test says, under the real SDK: for what a healthy Neutron does not do."""

import json
from collections.abc import Callable
from typing import Any

import requests
from keystoneauth1.noauth import NoAuth
from keystoneauth1.session import Session
from requests.adapters import BaseAdapter

from evenkeel.network.neutron.client import NeutronClient

ROOT = "http://neutron.test:9696"
SUBNET = {
    "id": "s1",
    "network_id": "n1",
    "project_id": "p1",
    "cidr": "10.0.0.0/24",
    "gateway_ip": "10.0.0.1",
    "allocation_pools": [{"start": "10.0.0.2", "end": "10.0.0.254"}],
}
Answer = tuple[int, Any] | Exception
Script = Callable[[str, str], Answer | None]
"""The answer to a method and a path; None: what a healthy one says."""


def neutron_error(status: int, kind: str, message: str) -> Answer:
    return status, {"NeutronError": {"type": kind, "message": message, "detail": ""}}


class Transport(BaseAdapter):
    """Answers without a network; remembers what was asked."""

    def __init__(self, script: Script) -> None:
        super().__init__()
        self._script = script
        self.asked: list[tuple[str, str]] = []
        self.away: Exception | None = None
        """Raised whatever is asked."""

    def send(self, request: requests.PreparedRequest, *_args: Any, **_kw: Any) -> requests.Response:
        assert request.method and request.url
        path = request.path_url.partition("?")[0]
        self.asked.append((request.method, path))
        answer = self.away or self._script(request.method, path) or healthy(request.method, path)
        if isinstance(answer, Exception):
            raise answer
        response = requests.Response()
        response.status_code, body = answer
        response._content = json.dumps(body).encode()
        response.headers["Content-Type"] = "application/json"
        response.request, response.url = request, request.url
        return response

    def close(self) -> None:
        pass


def healthy(method: str, path: str) -> Answer:
    versions = {"id": "v2.0", "status": "CURRENT", "links": [{"rel": "self", "href": f"{ROOT}/v2.0/"}]}
    known: dict[tuple[str, str], Answer] = {
        ("GET", "/"): (200, {"versions": [versions]}),
        ("GET", "/v2.0/"): (200, {"resources": []}),
        ("GET", "/v2.0/subnets/s1"): (200, {"subnet": SUBNET}),
    }
    return known.get((method, path), (404, {}))


def client_over(script: Script) -> tuple[NeutronClient, Transport]:
    transport = Transport(script)
    http = requests.Session()
    http.mount("http://", transport)
    return NeutronClient(Session(auth=NoAuth(endpoint=ROOT), session=http)), transport
