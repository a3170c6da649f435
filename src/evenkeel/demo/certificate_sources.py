"""Sources of the certificate of the demo's website: by ACME, or from a file."""

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from evenkeel.cli.client import API, Client
from evenkeel.demo.authority import CertificateAuthority, add_certificate
from evenkeel.demo.waiting import StepFailed, until

SERVER_NAME = "www.example.org"
CERTIFICATE_NAME = "website"


class CertificateSource(Protocol):
    """Puts certificates for :data:`SERVER_NAME` into the key manager. Raises the client's errors and
    :class:`~evenkeel.demo.waiting.StepFailed`."""

    async def first(self, project_id: str) -> str:
        """Get the first one, and return its reference."""

    async def next(self, project_id: str) -> None:
        """Get another one under the same reference. Returns when it is on its way."""


class FromFile:
    """The authority signs; the operator adds certificate and key. ``reason``: why not by ACME."""

    def __init__(
        self, authority: CertificateAuthority, client: Client, say: Callable[[str], None], *, reason: str
    ) -> None:
        self._authority = authority
        self._client = client
        self._say = say
        self._reason = reason

    async def first(self, project_id: str) -> str:
        """Add the first one."""
        reference = await self._add(project_id, replace=False)
        self._say(f"a certificate for {SERVER_NAME} is in the key manager: {reference}")
        self._say(f"it was added, not requested by ACME: {self._reason}")
        return reference

    async def next(self, project_id: str) -> None:
        """Replace it, and let agents look at once."""
        await self._add(project_id, replace=True)
        self._say("the certificate is renewed in the key manager, under the same reference")
        await asyncio.to_thread(self._client.post, f"{API}/references/refresh", {"refresh": {}})

    async def _add(self, project_id: str, *, replace: bool) -> str:
        issued = self._authority.issue(SERVER_NAME)
        return await asyncio.to_thread(
            add_certificate, self._client, project_id, CERTIFICATE_NAME, issued, replace=replace
        )


class ByAcme:
    """The controllers request it from the authority's ACME server."""

    def __init__(self, client: Client, say: Callable[[str], None]) -> None:
        self._client = client
        self._say = say

    async def first(self, project_id: str) -> str:
        """Request it, and wait until it is issued."""
        body = {"project_id": project_id, "name": CERTIFICATE_NAME, "names": [SERVER_NAME]}
        await asyncio.to_thread(self._client.post, f"{API}/certificates", {"certificate": body})
        self._say(f"a certificate for {SERVER_NAME} is requested from the demo's own authority by ACME")
        found: dict[str, Any] = {}

        async def is_issued() -> bool:
            found.update(await asyncio.to_thread(self._shown, project_id))
            return bool(found["state"] == "issued")

        try:
            await until(is_issued, "the certificate to be issued")
        except StepFailed as error:
            raise StepFailed(f"{error}; it is {found['state']}: {found['problem']}") from error
        self._say(
            f"the load balancer has answered the challenge on port 80, and the certificate is issued: "
            f"{found['reference']}"
        )
        return str(found["reference"])

    async def next(self, project_id: str) -> None:
        """Revoke it, upon which the controllers order another one at once."""
        path = f"{API}/certificates/{project_id}/{CERTIFICATE_NAME}/revoke"
        await asyncio.to_thread(self._client.put, path, {"revocation": {"reason": "superseded"}})
        self._say("the certificate is revoked; the controllers order another one with a new key")

    def _shown(self, project_id: str) -> dict[str, Any]:
        path = f"{API}/certificates/{project_id}/{CERTIFICATE_NAME}"
        shown: dict[str, Any] = self._client.get(path, {})["certificate"]
        return shown
