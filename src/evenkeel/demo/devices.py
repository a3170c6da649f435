"""A client of the emulated devices: counters, the log of writes, and the devices' content."""

import base64
import json
import ssl
import urllib.request
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from evenkeel.cli.client import Client

TIMEOUT_SECONDS = 10.0


@dataclass(frozen=True, kw_only=True)
class EmulatedDevice:
    """Name and management URL of one emulated device."""

    name: str
    url: str

    @property
    def address(self) -> str:
        """Management address as ``host:port``, for the agents' configuration."""
        return urlsplit(self.url).netloc

    @property
    def port(self) -> int:
        """TCP port of the device's management address."""
        return urlsplit(self.url).port or 443


class Emulator:
    """Client of a running emulator. ``ca_file``: certificate that verifies the devices; ``user``,
    ``password``: of the devices. All methods block for up to some seconds, and raise :class:`ClientError`
    or OSError if the emulator does not answer.
    """

    def __init__(
        self, devices: Iterable[EmulatedDevice], *, ca_file: str, control_url: str, user: str, password: str
    ) -> None:
        self.devices = tuple(devices)
        self.ca_file = ca_file
        self.control_url = control_url
        self._control = Client([control_url], timeout_seconds=TIMEOUT_SECONDS)
        self._authorization = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()

    @classmethod
    def from_announcement(cls, endpoints: Mapping[str, Any], *, user: str, password: str) -> "Emulator":
        """Create the client from the content of the emulator's ``endpoints.json``."""
        devices = [EmulatedDevice(name=item["name"], url=item["url"]) for item in endpoints["devices"]]
        return cls(
            devices,
            ca_file=endpoints["ca_file"],
            control_url=endpoints["control_url"],
            user=user,
            password=password,
        )

    def control(self, method: str, path: str, body: Any = None) -> Any:
        """Send one request to the emulator's control API; returns the decoded JSON."""
        return self._control.request(method, path, body=body)

    def requests(self) -> dict[str, int]:
        """Return reads and writes since :meth:`reset_counters`, by device; logins and statistics are not counted."""
        return {name: counts["reads"] + counts["writes"] for name, counts in self._read_counters().items()}

    def observation_count(self) -> int:
        """Return the smallest number, over all devices, of requests for statistics since
        :meth:`reset_counters`: the number of complete observations.
        """
        return int(min(counts["stats"] for counts in self._read_counters().values()))

    def _read_counters(self) -> Any:
        return self.control("GET", "/counters")

    def reset_counters(self) -> None:
        """Set all request counters of the emulated devices to zero."""
        self.control("POST", "/counters/reset")

    def last_write(self) -> int:
        """Return the sequence number of the newest entry in the log of writes."""
        return int(self.control("GET", "/writes?limit=1")["last_seq"])

    def writes(self, after: int) -> list[dict[str, Any]]:
        """Return the entries of the log of writes after entry ``after``, oldest first."""
        entries: list[dict[str, Any]] = self.control("GET", f"/writes?after={after}")["entries"]
        return entries

    def first_write_by(self, host: str, after: int) -> dict[str, Any] | None:
        """Return the first write that a device committed for the agent on ``host`` after entry ``after``;
        None: not yet. Keys as in the emulator's log of writes.
        """
        return next((entry for entry in self.writes(after) if is_write_by(entry, host)), None)

    def members(self, device: EmulatedDevice) -> dict[str, set[str]]:
        """Return ``{full path of a pool: its members}`` of a device, members as ``address:port``, for IPv6
        ``address.port``.

        Members' names do not serve for that: a member at a node in /Common is named for the node.
        """
        pools = self.read(device, "/mgmt/tm/ltm/pool?expandSubcollections=true").get("items", [])
        return {
            pool["fullPath"]: set(map(_member_address, pool.get("membersReference", {}).get("items", [])))
            for pool in pools
        }

    def read(self, device: EmulatedDevice, path: str) -> Any:
        """Send one GET request to a device's iControl REST; returns the decoded JSON."""
        headers = {"Authorization": self._authorization}
        request = urllib.request.Request(device.url + path, headers=headers)  # noqa: S310  # an emulator of ours: https
        trust = urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=self.ca_file))
        # Proxy settings of the environment are not for an emulator on this host.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), trust)
        with opener.open(request, timeout=TIMEOUT_SECONDS) as answer:
            return json.load(answer)


def _member_address(member: Mapping[str, Any]) -> str:
    address, name = member["address"], member["name"]
    between = "." if ":" in address else ":"
    return f"{address}{between}{name.rpartition(between)[2]}"


def is_write_by(entry: Mapping[str, Any], host: str) -> bool:
    """Whether an entry of the log of writes is a committed write of the agent on ``host``."""
    done = entry["event"] == "transaction_committed" or (entry["event"] == "write" and entry["status"] < 300)
    return bool(done and entry["user_agent"] == f"evenkeel-agent/{host}")
