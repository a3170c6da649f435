"""Certificates from an operator's hand to a client's handshake, through real processes; renewed while clients ask."""

import asyncio
import base64
import os
import random
import socket
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from evenkeel.cli.client import API_PATH
from evenkeel.demo.addresses import VipAddress, choose_vip_address
from evenkeel.demo.cluster import Cluster
from tests.acceptance.tenant import LIMIT_SECONDS, Tenant, session, settled
from tests.acceptance.websites import create
from tests.key_managers.authority import INTERMEDIATE, LEAF, ROOT, Issued, ec_key
from tests.waiting import eventually

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(900)]

NAME = "www.example.org"
HANDSHAKE_SECONDS = 30.0


@pytest.fixture(params=["haproxy", "bigip"])
async def cluster(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Cluster]:
    """With a directory of certificates. What processes write is searched for the key afterwards."""
    key_file = tmp_path / "certificates.key"
    key_file.touch(0o600)
    key_file.write_bytes(base64.b64encode(os.urandom(32)))
    certificates = {
        "key_manager": "directory",
        "directory": tmp_path / "certificates",
        "directory_key_file": key_file,
        "certificate_refresh": 3600,
    }
    made = Cluster(
        tmp_path, environment="sealed", device=request.param, controller_options={"certificates": certificates}
    )
    try:
        await made.start_devices()
        await made.start_controller(1)
        await asyncio.gather(*(made.start_agent(host) for host in ("host-1", "host-2")), made.start_backend(1))
        yield made
    finally:
        await asyncio.to_thread(made.close)


class Visitor:
    """A client that verifies the server's name and chain."""

    def __init__(self, place: VipAddress) -> None:
        self.place = place
        self.seen: list[bytes] = []
        """Certificates, in the order of handshakes."""
        self.failures: list[str] = []
        self._context = ssl.create_default_context(cadata=ROOT.pem.decode())

    def ask(self) -> bytes | None:
        """One request over a connection of its own; the certificate that was shown."""
        try:
            with (
                socket.create_connection((self.place.address, self.place.port), timeout=HANDSHAKE_SECONDS) as raw,
                self._context.wrap_socket(raw, server_hostname=NAME) as tls,
            ):
                tls.sendall(b"GET / HTTP/1.0\r\nHost: www.example.org\r\n\r\n")
                answer = tls.recv(64)
                shown = tls.getpeercert(binary_form=True)
        except OSError as error:
            self.failures.append(repr(error))
            return None
        if b" 200 " not in answer:
            self.failures.append(repr(answer))
        assert shown is not None
        self.seen.append(shown)
        return shown

    async def stay(self) -> None:
        """Ask until cancelled."""
        while True:
            await asyncio.to_thread(self.ask)


def der(issued: Issued) -> bytes:
    return issued.certificate.public_bytes(Encoding.DER)


async def add(cluster: Cluster, issued: Issued) -> str:
    """Its reference."""
    body: dict[str, Any] = {
        "project_id": "shop",
        "name": "www",
        "pem": (issued.pem + INTERMEDIATE.pem).decode(),
        "private_key": issued.key_pem().decode(),
        "replace": True,
    }
    made = await asyncio.to_thread(cluster.client().post, f"{API_PATH}/certificates", {"certificate": body})
    return str(made["certificate"]["reference"])


async def test_certificate_is_renewed_while_clients_send_requests(cluster: Cluster) -> None:
    place = choose_vip_address(random.Random())
    body = {"subnet": {"name": "vips", "cidr": place.cidr}}
    subnet = (await asyncio.to_thread(cluster.client().post, f"{API_PATH}/subnets", body))["subnet"]
    reference = await add(cluster, LEAF)
    listener = {
        "protocol": "TERMINATED_HTTPS",
        "protocol_port": place.port,
        "default_tls_container_ref": reference,
        "default_pool": {
            "name": "web",
            "protocol": "HTTP",
            "lb_algorithm": "ROUND_ROBIN",
            "members": [{"address": "127.0.0.1", "protocol_port": cluster.backend_ports[0]}],
        },
    }
    async with session() as http:
        tenant = Tenant(http, cluster.controllers, "shop")
        fields = {"vip_subnet_id": subnet["id"], "vip_address": place.address, "listeners": [listener]}
        await create(tenant, fields)
        await settled(tenant)
        await eventually(lambda: asyncio.to_thread(Visitor(place).ask), within_seconds=LIMIT_SECONDS)

        visitor = Visitor(place)
        staying = asyncio.create_task(visitor.stay())
        renewed = Issued(NAME, INTERMEDIATE, ec_key(), names=(NAME,))
        await eventually(lambda: der(LEAF) in visitor.seen, within_seconds=LIMIT_SECONDS)
        await add(cluster, renewed)
        await asyncio.to_thread(
            cluster.client().post, f"{API_PATH}/references/refresh", {"refresh": {"reference": reference}}
        )
        await eventually(lambda: der(renewed) in visitor.seen, within_seconds=LIMIT_SECONDS)
        seen = len(visitor.seen)
        await eventually(lambda: len(visitor.seen) > seen + 10, within_seconds=LIMIT_SECONDS)
        staying.cancel()
        await asyncio.gather(staying, return_exceptions=True)
        await settled(tenant)

    assert visitor.failures == []
    assert {*visitor.seen} == {der(LEAF), der(renewed)} and visitor.seen[-1] == der(renewed)
    kinds = [event["kind"] for event in (await cluster.get_json("/events", limit=1000))["events"]]
    assert kinds.count("certificate_renewed") == 1
