"""An Octavia with one load balancer on an amphora, and its Neutron, whose port security acts on a segment."""

import copy
from typing import Any
from urllib.parse import urlsplit

from tests.acceptance.switching.segment import AMPHORA, PORT, VIP, Segment
from tests.cli.stub import Stub

LB, LISTENER, POOL, MEMBER, AMPHORA_ID, VRRP_PORT, VIP_PORT, SUBNET, NETWORK = (
    f"{number:08x}-1111-4222-8333-444444444444" for number in range(1, 10)
)
LBAAS = "/v2.0/lbaas"
_EMPTY = {
    "/flavors": "flavors",
    "/flavorprofiles": "flavorprofiles",
    "/availabilityzones": "availability_zones",
    "/availabilityzoneprofiles": "availability_zone_profiles",
    "/healthmonitors": "healthmonitors",
    "/l7policies": "l7policies",
}


class Cloud(Stub):
    """``pairs``: allowed address pairs of the amphora's port; ``member_port``: of the pool's member, 127.0.0.1."""

    def __init__(self, segment: Segment, subnet_id: str, member_port: int) -> None:
        super().__init__()
        self._segment = segment
        self._member_port = member_port
        self.subnet_id = subnet_id
        self.name = "web"
        self.is_deleted = False
        self.ports: dict[str, dict[str, Any]] = {
            VRRP_PORT: {
                "id": VRRP_PORT,
                "device_owner": "compute:nova",
                "port_security_enabled": True,
                "fixed_ips": [{"subnet_id": SUBNET, "ip_address": AMPHORA}],
                "allowed_address_pairs": [{"ip_address": VIP, "mac_address": "fa:16:3e:00:00:01"}],
            },
            VIP_PORT: {"id": VIP_PORT, "device_owner": "Octavia", "binding:host_id": ""},
        }

    @property
    def pairs(self) -> list[str]:
        """Addresses from which the amphora may send, beside its own."""
        port = self.ports.get(VRRP_PORT, {})
        return [each["ip_address"] for each in port.get("allowed_address_pairs", ())]

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        self.asked.append((method, path, body))
        path = urlsplit(path).path
        if path.startswith("/v2.0/ports/"):
            return self._port(method, path.rpartition("/")[2], body)
        if method == "DELETE" and path == f"{LBAAS}/loadbalancers/{LB}":
            return self._delete()
        found = self._octavia(path.removeprefix(LBAAS))
        return (404, {"faultstring": f"no {path}"}) if found is None else (200, found)

    def _port(self, method: str, port_id: str, body: Any) -> tuple[int, Any]:
        port = self.ports.get(port_id)
        if port is None:
            return 404, {"NeutronError": {"message": "gone"}}
        if method == "PUT":
            spoke = VIP in self.pairs
            port.update(copy.deepcopy(body["port"]))
            if spoke and VIP not in self.pairs:
                self._segment.silence_amphora()
            elif VIP in self.pairs and not spoke:
                self._segment.let_amphora_speak()
        return 200, {"port": port}

    def _delete(self) -> tuple[int, Any]:
        """As Octavia does: amphorae and their ports go, and the VIP's port if it is Octavia's."""
        self.is_deleted = True
        del self.ports[VRRP_PORT]
        if self.ports[VIP_PORT]["device_owner"] == "Octavia":
            del self.ports[VIP_PORT]
        return 204, None

    def _octavia(self, path: str) -> Any:
        lb = {"id": LB}
        if path == "/v2.0/octavia/amphorae":
            row = {"id": AMPHORA_ID, "loadbalancer_id": LB, "status": "ALLOCATED", "role": "STANDALONE"}
            return {"amphorae": [row | {"vrrp_port_id": VRRP_PORT, "vrrp_ip": AMPHORA, "ha_ip": VIP}]}
        if path == f"/loadbalancers/{LB}" and not self.is_deleted:
            return {"loadbalancer": self._load_balancer()}
        if path == "/loadbalancers":
            return {"loadbalancers": [self._load_balancer()]}
        if path == "/listeners":
            row = {"id": LISTENER, "loadbalancers": [lb], "protocol": "HTTP", "protocol_port": PORT, "name": ""}
            return {"listeners": [self._state(row | {"default_pool_id": POOL, "l7policies": []})]}
        if path == "/pools":
            row = {"id": POOL, "loadbalancers": [lb], "listeners": [{"id": LISTENER}], "members": [{"id": MEMBER}]}
            return {"pools": [self._state(row | {"protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN", "name": "web"})]}
        if path == f"/pools/{POOL}/members":
            row = {"id": MEMBER, "address": "127.0.0.1", "protocol_port": self._member_port, "weight": 1}
            return {"members": [self._state(row)]}
        return {_EMPTY[path]: []} if path in _EMPTY else None

    def _load_balancer(self) -> dict[str, Any]:
        vip = {"vip_address": VIP, "vip_subnet_id": self.subnet_id, "vip_port_id": VIP_PORT}
        row = {
            "id": LB,
            "name": self.name,
            "provider": "amphora",
            "listeners": [{"id": LISTENER}],
            "pools": [{"id": POOL}],
        }
        return self._state(row | vip)

    def _state(self, row: dict[str, Any]) -> dict[str, Any]:
        same = {"project_id": "p1", "admin_state_up": True, "updated_at": "2026-01-01T00:00:00"}
        return same | {"provisioning_status": "ACTIVE", "operating_status": "ONLINE"} | row
