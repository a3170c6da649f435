"""A controller of its own kind: the mirror API over HTTP, with load balancers in memory and faults on demand."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

ROOT = "/evenkeel/v1/mirror"
CHILDREN = ("listeners", "pools", "members", "healthmonitors", "l7policies", "l7rules")


def objects_of(body: dict[str, Any]) -> dict[str, list[str]]:
    """Ids of the objects in a load balancer's body by kind."""
    found: dict[str, list[str]] = {kind: [] for kind in CHILDREN}
    for pool in body.get("pools", []):
        found["pools"].append(pool["id"])
        found["members"] += [each["id"] for each in pool.get("members", [])]
        found["healthmonitors"] += [pool["healthmonitor"]["id"]] if "healthmonitor" in pool else []
    for listener in body.get("listeners", []):
        found["listeners"].append(listener["id"])
        for policy in listener.get("l7policies", []):
            found["l7policies"].append(policy["id"])
            found["l7rules"] += [each["id"] for each in policy.get("rules", [])]
    return found


class FakeController:
    """State and faults. ``settles_after``: requests for statuses after which a change is applied."""

    def __init__(self) -> None:
        self.held: dict[str, dict[str, Any]] = {}
        self.requests: list[tuple[str, str, Any]] = []
        self.settles_after = 1
        self.outcome = "ACTIVE"
        self.refusals: dict[str, tuple[int, str]] = {}
        """Answer to requests whose path begins with the key."""
        self.delay_seconds = 0.0
        self.holder: str | None = None
        self.lease_until = 0.0
        self.changed: list[str] = []
        self.ports: dict[str, float] = {}
        """Age in seconds of unused VIP ports, by load balancer."""
        self.operating: dict[str, str] = {}
        self.totals: list[dict[str, Any]] = []
        self.authorization: str | None = None
        """The only Authorization header that is taken; None: any."""
        self._lock = threading.Lock()

    def answer(self, method: str, target: str, body: Any) -> tuple[int, Any]:
        """Status and body of the answer to a request."""
        parts = urlsplit(target)
        path = parts.path.removeprefix(ROOT)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        time.sleep(self.delay_seconds)
        with self._lock:
            self.requests.append((method, path, body))
            for beginning, (status, words) in self.refusals.items():
                if f"{method} {path}".startswith(beginning):
                    return status, {"faultcode": "Client", "faultstring": words, "debuginfo": None}
            if path.startswith("/loadbalancers/"):
                return self._one(method, path.rpartition("/")[2], body, query)
            name = f"_{method}_{path[1:]}".lower().replace("-", "_")
            found: tuple[int, Any] = getattr(self, name)(body, query)
            return found

    def _one(self, method: str, id: str, body: Any, query: dict[str, str]) -> tuple[int, Any]:
        held = self.held.get(id)
        snapshot = float(body["snapshot"] if method == "PUT" else query["snapshot"])
        assert body["loadbalancer"]["provider"] if method == "PUT" else query["provider"]
        if held is not None and held["snapshot"] > snapshot:
            return 409, {"faultstring": "a newer snapshot is stored", "debuginfo": "stale_snapshot"}
        if method == "PUT" and held is not None and held["leaves"]:
            return 409, {"faultstring": "it is being deleted", "debuginfo": "being_deleted"}
        self.ports.pop(id, None)
        if method == "DELETE":
            if held is not None:
                held.update(leaves=True, polls=0, snapshot=snapshot)
            return 204, None
        change = body.get("change") or (held or {}).get("change")
        if held is None or held["digest"] != body["digest"] or held.get("change") != change:
            revision = 1 if held is None else held["revision"] + 1
            self.held[id] = {"revision": revision, "polls": 0, "leaves": False, "change": change}
        self.held[id] |= {"snapshot": snapshot, "digest": body["digest"], "body": body["loadbalancer"]}
        return 200, {"loadbalancer": {"id": id, "revision": self.held[id]["revision"], "provisioning_status": "?"}}

    def _post_statuses(self, body: Any, query: dict[str, str]) -> tuple[int, Any]:
        found = []
        for id in body["ids"]:
            held = self.held.get(id)
            if held is None:
                continue
            held["polls"] += 1
            is_applied = held["polls"] > self.settles_after
            if held["leaves"] and is_applied:
                del self.held[id]
                continue
            found.append(self._status(id, held, is_applied))
        return 200, {"loadbalancers": found}

    def _status(self, id: str, held: dict[str, Any], is_applied: bool) -> dict[str, Any]:
        def statuses(each: str) -> dict[str, str]:
            outcome = self.outcome if is_applied else "PENDING_UPDATE"
            operating = self.operating.get(each, "ONLINE")
            return {"id": each, "provisioning_status": outcome, "operating_status": operating}

        children = {kind: [statuses(each) for each in ids] for kind, ids in objects_of(held["body"]).items()}
        revision = held["revision"]
        return {
            **statuses(id),
            **children,
            "snapshot": held["snapshot"],
            "digest": held["digest"],
            "revision": revision,
            "applied_revision": revision if is_applied else revision - 1,
            "status_reason": "",
        }

    def _get_loadbalancers(self, body: Any, query: dict[str, str]) -> tuple[int, Any]:
        ids = sorted(id for id in self.held if id > query.get("marker", ""))
        page = ids[: int(query["limit"])]
        found = [{"id": id, "snapshot": self.held[id]["snapshot"], "digest": self.held[id]["digest"]} for id in page]
        return 200, {"loadbalancers": found, "next": page[-1] if len(page) < len(ids) else None}

    def _get_changes(self, body: Any, query: dict[str, str]) -> tuple[int, Any]:
        ids, self.changed = self.changed, []
        return 200, {"cursor": "1", "ids": ids, "all": not query.get("since")}

    def _get_vip_ports(self, body: Any, query: dict[str, str]) -> tuple[int, Any]:
        return 200, {"ids": [id for id, age in self.ports.items() if age >= float(query["older"])]}

    def _post_statistics(self, body: Any, query: dict[str, str]) -> tuple[int, Any]:
        return 200, {"listeners": self.totals}

    def _put_lease(self, body: Any, query: dict[str, str]) -> tuple[int, Any]:
        if self.holder in (None, body["holder"]) or time.monotonic() > self.lease_until:
            self.holder = body["holder"] if body["seconds"] else None
            self.lease_until = time.monotonic() + body["seconds"]
        return 200, {"holder": self.holder, "is_held": self.holder == body["holder"]}

    def _post_check(self, body: Any, query: dict[str, str]) -> tuple[int, Any]:
        return 204, None

    _post_check_flavor = _post_check_availability_zone = _post_check

    def _get_flavor_metadata(self, body: Any, query: dict[str, str]) -> tuple[int, Any]:
        return 200, {"metadata": [{"name": "size", "description": "Size of the device's part."}]}

    _get_availability_zone_metadata = _get_flavor_metadata


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    controller: FakeController


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def _handle(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        expected = self.server.controller.authorization
        if expected is not None and self.headers.get("Authorization") != expected:
            status, answer = 401, {"error": {"code": 401, "message": "The request needs a login."}}
        else:
            status, answer = self.server.controller.answer(self.command, self.path, body)
        data = b"" if answer is None else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_DELETE = _handle

    def log_message(self, *words: object) -> None:
        pass


@contextmanager
def served(controller: FakeController, port: int = 0) -> Iterator[str]:
    """Serve a controller on a port of loopback; its root URL."""
    with _Server(("127.0.0.1", port), _Handler) as server:
        server.controller = controller
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
