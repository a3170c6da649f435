"""A step about TLS: a certificate of the demo's own authority is served, and renewed while requests flow."""

import asyncio
import time
from collections.abc import Callable

from evenkeel.demo.addresses import VipAddress
from evenkeel.demo.authority import CertificateAuthority
from evenkeel.demo.certificate_sources import SERVER_NAME, AcmeCertificates
from evenkeel.demo.outcome import DemoResult
from evenkeel.demo.tenant import Tenant
from evenkeel.demo.traffic import TlsClient, TrafficGenerator
from evenkeel.demo.waiting import wait_until


class HttpsWebsite:
    """An HTTPS listener in front of the pool of a load balancer. ``traffic`` flows from :meth:`serve` on.
    ``outcome`` collects measurements and problems; ``say`` prints a line.
    """

    def __init__(
        self,
        place: VipAddress,
        authority: CertificateAuthority,
        source: AcmeCertificates,
        tenant: Tenant,
        outcome: DemoResult,
        say: Callable[[str], None],
    ) -> None:
        self._place = place
        self._authority = authority
        self._source = source
        self._tenant = tenant
        self._outcome = outcome
        self._say = say
        self._project_id = ""
        tls = TlsClient(authority.client_context(), SERVER_NAME)
        self.traffic = TrafficGenerator(place.address, place.https_port, clients=2, tls=tls)

    async def serve(self, load_balancer_id: str, project_id: str, name: str) -> None:
        """Get a certificate, create the listener and start the traffic. Raises
        :class:`~evenkeel.demo.waiting.StepFailed`, and the errors of openstacksdk and of the API client.
        """
        self._project_id = project_id
        reference = await self._source.provide_first(project_id)
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
        await wait_until(self._is_certificate_presented, "an answer over TLS")
        self._say(f"requests flow through {self._place.https_url} too")

    async def renew_certificate(self) -> None:
        """Replace the certificate and wait until clients see the new one; the time is added to the outcome.
        Raises :class:`~evenkeel.demo.waiting.StepFailed` if they do not, and :class:`ClientError`.
        """
        known = len(self._authority.issued)
        began = time.monotonic()
        await self._source.replace_certificate(self._project_id)

        async def is_replaced() -> bool:
            return len(self._authority.issued) > known and await self._is_certificate_presented()

        await wait_until(is_replaced, "the new certificate")
        seconds = time.monotonic() - began
        self._say(f"clients see the new certificate after {seconds:.2f} s, and no connection was cut")
        self._outcome.more.append(("seconds from renewing the certificate to its first use", f"{seconds:.2f}"))

    def check_shown_certificates(self) -> None:
        """Add a problem to the outcome if clients were shown a certificate that the authority did not issue
        for websites.
        """
        shown, issued = set(self.traffic.counts.certificates), set(self._authority.issued)
        if shown - issued:
            self._outcome.problems.append(f"{len(shown - issued)} certificates were shown that were never issued")

    async def _is_certificate_presented(self) -> bool:
        """Whether a client was shown the certificate that was issued last."""
        return self.traffic.counts.certificates[self._authority.issued[-1]] > 0
