"""A running system with two device groups, of one BIG-IP stand-in and one agent each, and acts on its devices and its
database that no dashboard makes."""

import asyncio
import sqlite3
import ssl
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx

from evenkeel.demo.cluster import controller_name
from evenkeel.demo.device_kinds.bigip import DEVICE_USER
from tests.ui.world import LBAAS, OPERATORS, World

HOSTS = ("host-1", "host-2")
"""Hosts of the agents, by the number of their device group, from 1."""


class TwoGroups(World):
    """The load balancer ``website`` is on either group."""

    emulator_arguments = ("--ha", "standalone")
    asked = 1

    async def _start(self) -> None:
        cluster = self.cluster
        await cluster.start_devices()
        await cluster.start_controller(1)
        devices = cluster.emulator.devices
        for group, (host, device) in enumerate(zip(HOSTS, devices, strict=True), 1):
            only = {"icontrol_hostname": [device.address], "f5_ha_type": "standalone"}
            await cluster.start_agent(host, group=group, options={"bigip": only})
        backends = [await cluster.start_backend(number) for number in (1, 2)]
        self.load_balancer_id = await asyncio.to_thread(self._website, backends)

    @property
    def group(self) -> int:
        """Number of the device group that has the load balancer ``website``."""
        return self.group_of(self.load_balancer_id)

    def group_of(self, id_: str) -> int:
        """Number of the device group that has a load balancer."""
        return int(self.ask("GET", f"{OPERATORS}/loadbalancers/{id_}/agent")["hosting"]["shard"]["group_number"])

    @property
    def subnet_id(self) -> str:
        """Id of the address pool of VIPs."""
        return str(self.ask("GET", f"{OPERATORS}/subnets")["subnets"][0]["id"])

    def orphans(self) -> set[str]:
        """Ids of load balancers that devices hold and the database does not, by the agents' last comparison."""
        shards = self.ask("GET", f"{OPERATORS}/shards")["shards"]
        common = [shard["id"] for shard in shards if not shard["project_id"]]
        found = [self.ask("POST", f"{OPERATORS}/shards/{id_}/orphans")["orphans"] for id_ in common]
        return {row["load_balancer_id"] for rows in found for row in rows}

    @property
    def free_address(self) -> str:
        """The last address of the pool, which is allocated last."""
        return str(self.ask("GET", f"{OPERATORS}/subnets")["subnets"][0]["allocation_end"])

    def create(self, name: str, project_id: str) -> str:
        """Create a load balancer with a listener; its id. It may be PENDING for ever."""
        listener = {"name": "plain", "protocol": "HTTP", "protocol_port": 8080}
        new = {"name": name, "project_id": project_id, "vip_subnet_id": self.subnet_id, "listeners": [listener]}
        return str(self.ask("POST", f"{LBAAS}/loadbalancers", {"loadbalancer": new})["loadbalancer"]["id"])

    # -- devices

    def on_device(self, group: int, method: str, path: str, body: Any = None) -> Any:
        """The answer of a group's device to a change by hand: iControl REST below ``/mgmt/tm/``."""
        emulator = self.cluster.emulator
        password = (self.cluster.directory / "etc" / "icontrol-password").read_text().strip()
        answer = httpx.request(
            method,
            f"{emulator.devices[group - 1].url}/mgmt/tm/{path}",
            json=body,
            auth=(DEVICE_USER, password),
            verify=ssl.create_default_context(cafile=emulator.ca_file),
            trust_env=False,
            timeout=60.0,
        )
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    def names(self, group: int, kind: str) -> set[str]:
        """Full paths of all objects of a kind, such as ``ltm/pool``, on a group's device."""
        return {each["fullPath"] for each in self.on_device(group, "GET", kind).get("items", ())}

    # -- the database

    def back_up(self, file: Path) -> None:
        """Write a copy of the database."""
        with closing(sqlite3.connect(self._database)) as connection:
            connection.execute("VACUUM INTO ?", (str(file),))

    def restore(self, file: Path) -> None:
        """Put a copy in the place of the database; the controller is down meanwhile."""
        name = controller_name(1)
        self.cluster.stop(name)
        for ending in ("-wal", "-shm"):
            self._database.with_name(self._database.name + ending).unlink(missing_ok=True)
        file.replace(self._database)
        self.start_again(name)

    @property
    def _database(self) -> Path:
        return Path(self.cluster.database.removeprefix("sqlite:///"))
