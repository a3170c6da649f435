"""A double of Barbican's HTTP API v1 and of the part of Keystone's v3 that logs in: paths, statuses and bodies are
those of their API references. A token is of the project that it was asked for, and each secret of a project."""

import json
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class SecretRow(NamedTuple):
    project_id: str
    content: bytes
    kind: str


class Barbican:
    """What there is, and how it behaves."""

    def __init__(self) -> None:
        self.url = ""
        self.secrets: dict[str, SecretRow] = {}
        self.containers: dict[str, tuple[str, dict[str, Any]]] = {}
        self.status = 0
        """Answered instead of anything of Barbican's; 0: as it is."""
        self.delay = threading.Event()
        self.delay.set()
        self.refused_projects: set[str] = set()

    def secret(self, project_id: str, content: bytes, kind: str = "application/octet-stream") -> str:
        secret_id = str(uuid.uuid4())
        self.secrets[secret_id] = SecretRow(project_id, content, kind)
        return f"{self.url}/v1/secrets/{secret_id}"

    def container(self, project_id: str, kind: str = "certificate", **parts: str) -> str:
        container_id = str(uuid.uuid4())
        rows = [{"name": name, "secret_ref": ref} for name, ref in parts.items()]
        self.containers[container_id] = (project_id, {"type": kind, "secret_refs": rows})
        return f"{self.url}/v1/containers/{container_id}"

    def answer(self, path: str, token: str, accept: str) -> tuple[int, str, bytes]:
        _, _, kind, object_id, *rest = path.split("/")
        project_id = token.removeprefix("token-of-")
        if self.status:
            return self.status, "text/plain", b"canary of an error"
        if kind == "containers" and object_id in self.containers:
            owner, container = self.containers[object_id]
            return (403, "", b"") if owner != project_id else (200, "application/json", json.dumps(container).encode())
        row = self.secrets.get(object_id)
        if row is None:
            return 404, "", b""
        if row.project_id != project_id:
            return 403, "", b""
        if rest == ["payload"]:
            return (200, row.kind, row.content) if accept == row.kind else (406, "", b"")
        return (
            200,
            "application/json",
            json.dumps({"content_types": {"default": row.kind}, "status": "ACTIVE"}).encode(),
        )

    def login(self, asked: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        auth = asked["auth"]
        project_id = auth["scope"]["project"]["id"]
        if auth["identity"]["password"]["user"]["password"] != "secret" or project_id in self.refused_projects:
            return 401, {}, b"{}"
        endpoint = {"interface": "public", "region": "one", "url": self.url, "id": "e"}
        service = {"type": "key-manager", "name": "barbican", "id": "s", "endpoints": [endpoint]}
        token = {"expires_at": "2099-01-01T00:00:00Z", "issued_at": "2026-01-01T00:00:00Z", "catalog": [service]}
        token |= {"methods": ["password"], "user": {"id": "u", "name": "evenkeel", "domain": {"id": "default"}}}
        return 201, {"X-Subject-Token": f"token-of-{project_id}"}, json.dumps({"token": token}).encode()


@contextmanager
def served() -> Iterator[Barbican]:
    """On a free port of 127.0.0.1."""
    barbican = Barbican()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.startswith("/v3"):
                self._send(200, {}, json.dumps({"version": {"id": "v3.14", "status": "stable", "links": []}}).encode())
                return
            barbican.delay.wait(120.0)
            token, accept = self.headers.get("X-Auth-Token", ""), self.headers.get("Accept", "")
            status, kind, body = barbican.answer(self.path, token, accept)
            self._send(status, {"Content-Type": kind}, body)

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self._send(*barbican.login(asked))

        def _send(self, status: int, headers: dict[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, value in (headers | {"Content-Length": str(len(body))}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: Any) -> None:
            """Be silent."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        barbican.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield barbican
        finally:
            barbican.delay.set()
            server.shutdown()
            thread.join()
