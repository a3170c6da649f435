"""A running system for the dashboard: two controllers that ask for a password, three agents, two BIG-IP stand-ins, and
a load balancer with one of each kind below it.
"""

import asyncio
import base64
import random
import signal
import ssl
import sys
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx

from evenkeel.cli.client import Client
from evenkeel.cli.login import login_headers
from evenkeel.cmd.users import main as evenkeel_users
from evenkeel.demo.addresses import choose_vip_address
from evenkeel.demo.cluster import Cluster
from tests.freezing import freeze
from tests.waiting import eventually

USER, PASSWORD = "olga", "correct horse battery"
READER, READER_PASSWORD = "rita", "staple of the reader"
TENANT, TENANT_PASSWORD = "tom", "battery of the tenant"
STRANGER, STRANGER_PASSWORD = "sam", "horse of the stranger"
LOGINS = (
    (USER, PASSWORD, "admin"),
    (READER, READER_PASSWORD, "evenkeel_agent"),
    (TENANT, TENANT_PASSWORD, "load-balancer_member"),
    (STRANGER, STRANGER_PASSWORD, "load-balancer_quota_admin"),
)
PROJECT = "5f0c7b1e2a3d4c5b8e9f0a1b2c3d4e5f"
HOSTS = ("host-1", "host-2", "host-3")
OPERATORS, LBAAS = "/evenkeel/v1", "/v2/lbaas"
WITHIN_SECONDS = 120.0
SESSION_SECONDS = 8
PLAIN = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""For plain HTTP: without it httpx reads all authorities again for each request, 26 ms."""
MADE = (
    (LBAAS, "loadbalancers", "?cascade=true"),
    (OPERATORS, "subnets", ""),
    (OPERATORS, "networks", ""),
    (OPERATORS, "environments", ""),
)
"""What tests make: the API, the kind and the question of a request that deletes one, in the order to delete them."""


class GuardedCluster(Cluster):
    """Its controllers ask for a password."""

    def client(self, *numbers: int, timeout_seconds: float = 60.0) -> Client:
        urls = [self.url(number) for number in numbers] or self.controllers
        login = login_headers({"EVENKEEL_USERNAME": USER, "EVENKEEL_PASSWORD": PASSWORD})
        return Client(urls, timeout_seconds=timeout_seconds, login=login)


class World:
    """The system. Use :meth:`start` and :meth:`close`; methods block."""

    emulator_arguments: tuple[str, ...] = ()
    asked = 2
    """Number of the controller that the operator's own requests go to."""

    def __init__(self, directory: Path) -> None:
        users = directory / "users"
        for name, password, role in LOGINS:
            words = ["--file", str(users), "add", name, "--password-stdin", "--project", PROJECT, "--roles", role]
            with patch.object(sys, "stdin", StringIO(f"{password}\n")):
                assert evenkeel_users(words) == 0
        key_file = directory / "certificates.key"
        key_file.touch(mode=0o600)
        key_file.write_bytes(base64.b64encode(bytes(32)))
        self.cluster = GuardedCluster(
            directory / "cluster",
            environment="prod",
            emulator_arguments=self.emulator_arguments,
            controller_options={
                "DEFAULT": {"session_ttl": SESSION_SECONDS, "settle_time": 2},
                "series": {"interval": 5},
                "certificates": {
                    "key_manager": "directory",
                    "directory": directory / "certificates",
                    "directory_key_file": key_file,
                },
                "identity": {"kind": "password_file", "password_file": users},
            },
            agent_options={"DEFAULT": {"report_interval": 1, "status_interval": 3}},
            start_seconds=240.0,
        )
        self._first: set[str] = set()
        self.load_balancer_id = ""
        self.site = ""
        """URL of the load balancer's listener."""

    def start(self) -> None:
        finished(self._start())
        self._first = {path for path, _ in self._made()}

    def close(self) -> None:
        self.cluster.close()

    async def _start(self) -> None:
        cluster = self.cluster
        await cluster.start_devices()
        for number in (1, 2):
            await cluster.start_controller(number)
        await asyncio.gather(*(cluster.start_agent(host) for host in HOSTS))
        backends = [await cluster.start_backend(number) for number in (1, 2)]
        self.load_balancer_id = await asyncio.to_thread(self._website, backends)

    def _website(self, backends: list[int]) -> str:
        place = choose_vip_address(random.SystemRandom())
        self.site = place.url
        body = {"subnet": {"name": "web", "cidr": place.cidr}}
        subnet = self.ask("POST", f"{OPERATORS}/subnets", body)["subnet"]
        members = [
            {"name": f"web-{number}", "address": "127.0.0.1", "protocol_port": port}
            for number, port in enumerate(backends, 1)
        ]
        monitor = {"type": "HTTP", "delay": 2, "timeout": 1, "max_retries": 2, "url_path": "/", "name": "alive"}
        rule = {"type": "PATH", "compare_type": "STARTS_WITH", "value": "/old"}
        policy = {
            "name": "moved",
            "action": "REDIRECT_TO_URL",
            "redirect_url": "http://www.example.org/",
            "position": 1,
        }
        listener = {
            "name": "web",
            "protocol": "HTTP",
            "protocol_port": place.port,
            "l7policies": [{**policy, "rules": [rule]}],
            "default_pool": {
                "name": "servers",
                "protocol": "HTTP",
                "lb_algorithm": "ROUND_ROBIN",
                "members": members,
                "healthmonitor": monitor,
            },
        }
        made = self.ask(
            "POST",
            f"{LBAAS}/loadbalancers",
            {
                "loadbalancer": {
                    "name": "website",
                    "vip_subnet_id": subnet["id"],
                    "vip_address": place.address,
                    "listeners": [listener],
                }
            },
        )["loadbalancer"]
        self.until(lambda: self.status(made["id"]) == "ACTIVE")
        return str(made["id"])

    def secure(self, reference: str) -> str:
        """The id of a load balancer with two listeners, of which one shows this certificate."""
        listener = {
            "name": "https",
            "protocol": "TERMINATED_HTTPS",
            "protocol_port": 443,
            "default_tls_container_ref": reference,
        }
        plain = {"name": "plain", "protocol": "HTTP", "protocol_port": 8080}
        subnet = self.ask("GET", f"{OPERATORS}/subnets")["subnets"][0]
        new = {"name": "secure", "vip_subnet_id": subnet["id"], "listeners": [listener, plain]}
        made = self.ask("POST", f"{LBAAS}/loadbalancers", {"loadbalancer": new})["loadbalancer"]
        self.until(lambda: self.status(made["id"]) == "ACTIVE")
        return str(made["id"])

    # -- asking

    def ask(self, method: str, path: str, body: Any = None, *, controller: int = 0) -> Any:
        """The answer of a controller to the operator."""
        answer = httpx.request(
            method,
            self.cluster.url(controller or self.asked) + path,
            json=body,
            auth=(USER, PASSWORD),
            verify=PLAIN,
            timeout=60.0,
        )
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    def until(self, condition: Callable[[], Any]) -> Any:
        """The first true answer."""

        async def look() -> Any:
            return await asyncio.to_thread(condition)

        return finished(eventually(look, within_seconds=WITHIN_SECONDS, every_seconds=0.1))

    def start_again(self, *names: str) -> None:
        """Processes that were killed."""

        async def all_of_them() -> None:
            for name in names:
                await self.cluster.start_again(name)

        finished(all_of_them())

    def freeze(self, *names: str) -> None:
        """Processes, but not in the middle of a write to the bus, which would stop all others."""

        async def all_of_them() -> None:
            for name in names:
                await freeze(lambda number, name=name: self.cluster.kill(name, number), self.cluster.transport_url)  # type: ignore[misc]

        finished(all_of_them())

    def status(self, id_: str) -> str:
        return str(self.ask("GET", f"{LBAAS}/loadbalancers/{id_}")["loadbalancer"]["provisioning_status"])

    def rename(self, description: str) -> None:
        path = f"{LBAAS}/loadbalancers/{self.load_balancer_id}"
        self.ask("PUT", path, {"loadbalancer": {"description": description}})

    def change(self) -> None:
        """Something that devices hold."""
        listeners = self.ask("GET", f"{LBAAS}/listeners?loadbalancer_id={self.load_balancer_id}")["listeners"]
        (listener,) = listeners
        limit = 1000 if listener["connection_limit"] < 0 else listener["connection_limit"] + 1
        self.ask("PUT", f"{LBAAS}/listeners/{listener['id']}", {"listener": {"connection_limit": limit}})

    def hosting(self) -> dict[str, Any]:
        found: dict[str, Any] = self.ask("GET", f"{OPERATORS}/loadbalancers/{self.load_balancer_id}/agent")["hosting"]
        return found

    def acting_host(self) -> str:
        """Of the live agent that serves the load balancer; empty: none."""
        acting = self.hosting()["acting"]
        return str(acting["host"]) if acting and acting["alive"] else ""

    def agent(self, host: str) -> dict[str, Any]:
        (found,) = self.ask("GET", f"{OPERATORS}/agents?host={host}")["agents"]
        return dict(found)

    def reset(self) -> None:
        """Undo what a test that failed has left behind, and wait until all is as at the start: processes run, devices
        are in reach and have no fault, agents are neither drained nor declared dead, and nothing is there besides.
        """
        for process in self.cluster.processes.values():
            process.send(signal.SIGCONT)
        if ended := self.cluster.ended_processes():
            self.start_again(*ended)
        self.cluster.emulator.control("DELETE", "/faults")
        for agent in self.ask("GET", f"{OPERATORS}/agents")["agents"]:
            path = f"{OPERATORS}/agents/{agent['id']}"
            if agent["forced_down"]:
                self.ask("PUT", f"{path}/force-down", {"down": False})
            if not agent["admin_state_up"]:
                self.ask("PUT", f"{path}/undrain")
        for path, question in self._made():
            if path not in self._first:
                self.until(lambda path=path, question=question: self._is_deleted(path, question))
        self.settled()

    def _made(self) -> list[tuple[str, str]]:
        """Paths of all there is of :data:`MADE`, with the question to delete each."""
        return [
            (f"{api}/{kind}/{row.get('id') or row['name']}", question)
            for api, kind, question in MADE
            for row in self.ask("GET", f"{api}/{kind}")[kind]
        ]

    def _is_deleted(self, path: str, question: str) -> bool:
        """Ask for it; whether it is gone."""
        url = self.cluster.url(self.asked) + path
        answer = httpx.delete(url + question, auth=(USER, PASSWORD), verify=PLAIN, timeout=60.0)
        return answer.status_code == httpx.codes.NOT_FOUND

    def settled(self) -> None:
        """Everybody is up, nothing is halted, and the load balancer is at home and ACTIVE."""

        def is_so() -> bool:
            hosting = self.hosting()
            agents = self.ask("GET", f"{OPERATORS}/agents")["agents"]
            return (
                all(agent["state"] == "up" for agent in agents)
                and hosting["acting"] == hosting["home"] | {"id": hosting["acting"]["id"]}
                and hosting["provisioning_status"] == "ACTIVE"
                and not hosting["halted"]
            )

        self.until(lambda: _quietly(is_so))


def finished(work: Coroutine[Any, Any, Any]) -> Any:
    """Its result. In a thread of its own: the browser's client has an event loop in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


def _quietly(condition: Callable[[], bool]) -> bool:
    try:
        return condition()
    except (TypeError, AssertionError):
        return False
