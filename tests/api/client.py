"""A small client for tests: requests in-process, bodies as dictionaries."""

from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Self

import httpx

from evenkeel.core.control.shards import ShardOwner
from evenkeel.core.control.writes import Change
from evenkeel.core.kit.errors import BusUnavailable
from evenkeel.core.protocol.inquiries import Inquiry
from tests.api import bodies

LBAAS = "/v2/lbaas"


class Sink:
    """A change sink that remembers, and fails if told to."""

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self.failure: Exception | None = None
        self.adopted: list[bool] = []
        """Of each question to an agent, whether it is to adopt."""
        self.given_back: list[bool] = []
        """Of each question to an agent, whether it is about the way back."""
        self.on_question: Callable[[ShardOwner, str, str], Awaitable[None]] | None = None

    async def change_accepted(self, change: Change) -> None:
        self.changes.append(change)
        if self.failure is not None:
            raise self.failure

    async def failover_requested(self, change: Change) -> None:
        await self.change_accepted(change)

    async def request_full_resync(self, owners: Any) -> None:
        """Nobody looks."""

    async def send_inquiry(self, owner: ShardOwner, inquiry: Inquiry) -> None:
        self.adopted.append(inquiry.apply)
        self.given_back.append(inquiry.give_back)
        if self.on_question is None:
            raise BusUnavailable("no agent is within reach")
        await self.on_question(owner, inquiry.load_balancer_id, inquiry.inquiry_id)


class Client:
    """Calls paths below ``/v2/lbaas`` (or absolute ones) and checks the status."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http

    @classmethod
    def of(cls, app: Any) -> Self:
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        return cls(httpx.AsyncClient(transport=transport, base_url="http://api.test"))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.http.aclose()

    async def call(self, method: str, path: str, status: int, json: Any = None, **options: Any) -> Any:
        """The decoded answer (None without content), if it has that status."""
        if not path.startswith(("/v2", "/neutron", "/evenkeel", "/openapi", "/healthz", "/projects")) and path != "/":
            path = LBAAS + path
        answer = await self.http.request(method, path, json=json, **options)
        assert answer.status_code == status, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    async def get(self, path: str, status: int = 200, **options: Any) -> Any:
        return await self.call("GET", path, status, **options)

    async def post(self, path: str, json: Any, status: int = 201, **options: Any) -> Any:
        return await self.call("POST", path, status, json, **options)

    async def put(self, path: str, json: Any, status: int = 200, **options: Any) -> Any:
        return await self.call("PUT", path, status, json, **options)

    async def delete(self, path: str, status: int = 204, **options: Any) -> Any:
        return await self.call("DELETE", path, status, **options)

    # -- the usual objects

    async def load_balancer(self, **attributes: Any) -> dict[str, Any]:
        answer = await self.post("/loadbalancers", bodies.load_balancer(**attributes))
        shown: dict[str, Any] = answer["loadbalancer"]
        return shown

    async def listener(self, load_balancer_id: str, **attributes: Any) -> dict[str, Any]:
        body = {"loadbalancer_id": load_balancer_id, "protocol": "HTTP", "protocol_port": 80, **attributes}
        shown: dict[str, Any] = (await self.post("/listeners", {"listener": body}))["listener"]
        return shown

    async def pool(self, load_balancer_id: str, **attributes: Any) -> dict[str, Any]:
        body = {
            "loadbalancer_id": load_balancer_id,
            "protocol": "HTTP",
            "lb_algorithm": "ROUND_ROBIN",
            **attributes,
        }
        shown: dict[str, Any] = (await self.post("/pools", {"pool": body}))["pool"]
        return shown

    async def member(self, pool_id: str, **attributes: Any) -> dict[str, Any]:
        body = {"address": "10.20.0.5", "protocol_port": 8080, **attributes}
        shown: dict[str, Any] = (await self.post(f"/pools/{pool_id}/members", {"member": body}))["member"]
        return shown

    async def monitor(self, pool_id: str, **attributes: Any) -> dict[str, Any]:
        body = {"pool_id": pool_id, "type": "HTTP", "delay": 5, "timeout": 3, "max_retries": 2, **attributes}
        shown: dict[str, Any] = (await self.post("/healthmonitors", {"healthmonitor": body}))["healthmonitor"]
        return shown
