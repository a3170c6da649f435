"""A step about TLS: a certificate made on the spot is served, and renewed while requests flow."""

import asyncio
import time
from collections.abc import Callable

from evenkeel.cli.client import API, Client
from evenkeel.demo.addresses import VipPlace
from evenkeel.demo.authority import CertificateAuthority, IssuedCertificate, add_certificate
from evenkeel.demo.outcome import DemoResult
from evenkeel.demo.tenant import Tenant
from evenkeel.demo.traffic import TlsClient, Traffic
from evenkeel.demo.waiting import until

SERVER_NAME = "www.example.org"
CERTIFICATE_NAME = "website"


class HttpsWebsite:
    """HTTPS in front of the pool of a load balancer. ``traffic`` flows from :meth:`serve` on."""

    def __init__(
        self, place: VipPlace, client: Client, tenant: Tenant, outcome: DemoResult, say: Callable[[str], None]
    ) -> None:
        self._authority = CertificateAuthority()
        self._place = place
        self._client = client
        self._tenant = tenant
        self._outcome = outcome
        self._say = say
        self._project_id = ""
        self._issued: list[IssuedCertificate] = []
        tls = TlsClient(self._authority.client_context(), SERVER_NAME)
        self.traffic = Traffic(place.address, place.https_port, clients=2, tls=tls)

    async def serve(self, load_balancer_id: str, project_id: str, name: str) -> None:
        """Keep a certificate, make the listener, begin the traffic. Raises what the SDK and the client raise."""
        self._project_id = project_id
        reference = await self._store_certificate(replace=False)
        self._say(f"a certificate for {SERVER_NAME} is in the key manager: {reference}")
        await asyncio.to_thread(
            self._tenant.add_https,
            load_balancer_id,
            name=name,
            port=self._place.https_port,
            reference=reference,
        )
        await asyncio.to_thread(self._tenant.wait_until_active, load_balancer_id)
        self.traffic.start()
        self._outcome.https = self.traffic.counts
        await until(self._is_presented, "an answer over TLS")
        self._say(f"requests flow through {self._place.https_url} too")

    async def renew(self) -> None:
        """Replace the certificate and wait until clients see the new one. Raises
        :class:`~evenkeel.demo.waiting.StepFailed`."""
        await self._store_certificate(replace=True)
        began = time.monotonic()
        self._say("the certificate is renewed in the key manager, under the same reference")
        await asyncio.to_thread(self._client.post, f"{API}/references/refresh", {"refresh": {}})
        await until(self._is_presented, "the new certificate")
        seconds = time.monotonic() - began
        self._say(f"clients see the new certificate after {seconds:.2f} s, and no connection was cut")
        self._outcome.more.append(("seconds from renewing the certificate to its first use", f"{seconds:.2f}"))

    def check_shown_certificates(self) -> None:
        """Record a problem if clients were shown a certificate that was not issued for this website."""
        shown, issued = set(self.traffic.counts.certificates), {one.sha256 for one in self._issued}
        if shown - issued:
            self._outcome.problems.append(f"{len(shown - issued)} certificates were shown that were never issued")

    async def _store_certificate(self, *, replace: bool) -> str:
        """Put a new certificate into the key manager, and return its reference."""
        issued = self._authority.issue(SERVER_NAME)
        reference = await asyncio.to_thread(
            add_certificate, self._client, self._project_id, CERTIFICATE_NAME, issued, replace=replace
        )
        self._issued.append(issued)
        return reference

    async def _is_presented(self) -> bool:
        """Whether some client was presented the newest certificate."""
        return self.traffic.counts.certificates[self._issued[-1].sha256] > 0
