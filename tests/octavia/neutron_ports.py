"""A Neutron with ports only, as openstacksdk asks for them: allowed address pairs are read and set."""

import copy
from typing import Any
from urllib.parse import urlsplit

from tests.cli.stub import Stub


class PortsNeutron(Stub):
    """``ports``: by id."""

    def __init__(self) -> None:
        super().__init__()
        self.ports: dict[str, dict[str, Any]] = {}

    def add(self, port_id: str, address: str) -> None:
        """A port of an amphora that may send from an address of a VIP."""
        pairs = [{"ip_address": address, "mac_address": "fa:16:3e:00:00:01"}]
        self.ports[port_id] = {"id": port_id, "port_security_enabled": True, "allowed_address_pairs": pairs}

    def addresses(self, port_id: str) -> list[str]:
        """Addresses of VIPs from which a port may send."""
        return [pair["ip_address"] for pair in self.ports[port_id]["allowed_address_pairs"]]

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        self.asked.append((method, path, body))
        _, _, rest = urlsplit(path).path.partition("/v2.0/ports/")
        if not rest:
            links = [{"rel": "self", "href": f"{self.url}/v2.0/"}]
            return 200, {"versions": [{"id": "v2.0", "status": "CURRENT", "links": links}]}
        if rest not in self.ports:
            return 404, {"NeutronError": {"message": "gone", "type": "PortNotFound", "detail": ""}}
        if method == "PUT":
            self.ports[rest].update(copy.deepcopy(body["port"]))
        return 200, {"port": self.ports[rest]}
