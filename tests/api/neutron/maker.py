"""Makes objects through LBaaS v2, and tells how it refuses."""

from typing import Any

from tests.api import bodies
from tests.api.client import Client

LBAAS = "/neutron/v2.0/lbaas"
NOBODY = "11111111-2222-4333-8444-555555555555"


class Maker:
    """Makes objects through LBaaS v2."""

    def __init__(self, api: Client) -> None:
        self._api = api

    async def make(self, kind: str, path: str = "", **attributes: Any) -> Any:
        plural = f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"
        answer = await self._api.post(f"{LBAAS}{path or f'/{plural}'}", {kind: attributes})
        return answer[kind]

    async def root(self, **attributes: Any) -> Any:
        return await self.make("loadbalancer", vip_subnet_id=bodies.SUBNET_ID, **attributes)

    async def listener(self, root: Any, **attributes: Any) -> Any:
        wanted = {"protocol": "HTTP", "protocol_port": "80", "loadbalancer_id": root["id"], **attributes}
        return await self.make("listener", **wanted)

    async def pool(self, root: Any, **attributes: Any) -> Any:
        return await self.make(
            "pool", protocol="HTTP", lb_algorithm="ROUND_ROBIN", loadbalancer_id=root["id"], **attributes
        )

    async def monitor(self, pool: Any, **attributes: Any) -> Any:
        wanted = {"type": "HTTP", "delay": "5", "timeout": "3", "max_retries": "2", **attributes}
        return await self.make("healthmonitor", pool_id=pool["id"], **wanted)


async def refused(api: Client, method: str, path: str, status: int, kind: str, body: Any = None) -> str:
    """The message of a refusal of that type."""
    answer = await api.call(method, LBAAS + path, status, body)
    error = answer["NeutronError"]
    assert error["type"] == kind and error["detail"] == "" and answer.keys() == {"NeutronError"}, error
    return str(error["message"])
