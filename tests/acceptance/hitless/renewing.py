"""HTTPS while its certificates change: the default one is renewed again and again, others come and go beside it."""

import asyncio
import ssl
from collections.abc import Callable
from functools import partial
from typing import Any

from evenkeel.cli.client import API_PATH, ApiRefused, ClientError
from evenkeel.demo.authority import CertificateAuthority, IssuedCertificate, store_certificate
from evenkeel.demo.cluster import Cluster
from evenkeel.demo.traffic import TlsClient, TrafficConnection, TrafficGenerator
from tests.acceptance.tenant import LBAAS, LIMIT_SECONDS, PATIENCE_SECONDS, Tenant
from tests.waiting import eventually

NAME = "www.example.org"
CHANGES_PER_GUEST = 5
"""So many renewals go by for each certificate that comes and goes beside the default one."""
LOOK_SECONDS = 0.05


class Renewing:
    """One TERMINATED_HTTPS listener. Every handshake that is seen must show a certificate that was issued for its name.

    ``issued``: by server name, the SHA-256 of all certificates for it.
    """

    def __init__(self, cluster: Cluster, tenant: Tenant, *, address: str, port: int) -> None:
        self.renewals = 0
        self.guests = 0
        self.issued: dict[str, set[str]] = {}
        self.strange: list[str] = []
        """Handshakes that showed what was not issued for their name."""
        self._cluster = cluster
        self._tenant = tenant
        self._address = address
        self._port = port
        self._authority = CertificateAuthority()
        self._context = self._authority.client_context()
        self._listener_id = ""
        self._reference = ""

    def traffic(self, *, clients: int, pause_seconds: float) -> TrafficGenerator:
        """Clients of the listener, half of which keep their connections."""
        tls = TlsClient(self._context, NAME)
        return TrafficGenerator(self._address, self._port, clients=clients, pause_seconds=pause_seconds, tls=tls)

    async def listen(self, pool_id: str) -> None:
        """Make the listener, and wait until it answers."""
        self._reference, issued = await self._keep(NAME)
        listener = {
            "loadbalancer_id": self._tenant.load_balancer_id,
            "protocol": "TERMINATED_HTTPS",
            "protocol_port": self._port,
            "default_tls_container_ref": self._reference,
            "default_pool_id": pool_id,
            "timeout_member_connect": 1000,  # of a pool's listeners the longest counts, which another one changes
        }
        made = await self._tenant.surely("POST", f"{LBAAS}/listeners", {"listener": listener})
        self._listener_id = made["listener"]["id"]
        await self._until_shown(NAME, issued)

    async def renew(self, times: int) -> None:
        """Renew it so often, each time when the one before was seen; let others come and go meanwhile."""
        for number in range(times):
            _, issued = await self._keep(NAME)
            await self._refresh()
            await self._until_shown(NAME, issued)
            self.renewals += 1
            if number % CHANGES_PER_GUEST == 0:
                await self._guest(f"guest-{number}.example.org")

    async def _guest(self, name: str) -> None:
        """A certificate for another name comes, is shown to those who ask for it, and goes."""
        reference, issued = await self._keep(name)
        await self._change([reference])
        await self._until_shown(name, issued)
        await self._change([])
        await eventually(lambda: self._shows_default(name), within_seconds=LIMIT_SECONDS, every_seconds=LOOK_SECONDS)
        await self._retry(self._remove, name)
        self.guests += 1

    def _remove(self, name: str) -> None:
        """Remove it from the key manager. One that is not there any more is removed: a controller that is killed after
        that, or can't write its event, gives no answer, and the request is repeated."""
        try:
            self._cluster.client().delete(f"{API_PATH}/certificates/{self._tenant.project_id}/{name}")
        except ApiRefused as error:
            if "not found" not in str(error):
                raise

    async def _change(self, references: list[str]) -> None:
        path, body = f"{LBAAS}/listeners/{self._listener_id}", {"listener": {"sni_container_refs": references}}
        await self._tenant.surely("PUT", path, body)

    async def _keep(self, name: str) -> tuple[str, IssuedCertificate]:
        """Put a new certificate for ``name`` into the key manager; its reference."""
        issued = self._authority.issue(name)
        self.issued.setdefault(name, set()).add(issued.sha256)
        client, project_id = self._cluster.client(), self._tenant.project_id
        reference = await self._retry(partial(store_certificate, replace=True), client, project_id, name, issued)
        return reference, issued

    async def _refresh(self) -> None:
        await self._retry(self._cluster.client().post, f"{API_PATH}/references/refresh", {"refresh": {}})

    async def _retry(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """Until a controller answers; they are killed meanwhile."""
        deadline = asyncio.get_running_loop().time() + PATIENCE_SECONDS
        while True:
            try:
                return await asyncio.to_thread(call, *arguments)
            except ClientError:
                if asyncio.get_running_loop().time() > deadline:
                    raise
            await asyncio.sleep(LOOK_SECONDS)

    async def _until_shown(self, name: str, issued: IssuedCertificate) -> None:
        async def shown() -> bool:
            return await self._handshake(name) == issued.sha256

        await eventually(shown, within_seconds=LIMIT_SECONDS, every_seconds=LOOK_SECONDS)

    async def _shows_default(self, name: str) -> bool:
        return await self._handshake(name) in self.issued[NAME]

    async def _handshake(self, name: str) -> str:
        """The certificate that those who ask for ``name`` are shown; empty if nobody listens yet."""
        context = self._authority.client_context()
        context.check_hostname = False
        try:
            connection = await TrafficConnection.open(self._address, self._port, TlsClient(context, name))
        except ssl.SSLError as error:
            self.strange.append(f"{name}: {error}")
            return ""
        except OSError:
            return ""
        try:
            shown = connection.certificate
        finally:
            connection.close()
        if shown not in self.issued[name] | self.issued[NAME]:
            self.strange.append(f"{name} was shown {shown}")
        return shown
