"""Certificates of the demo's website, which controllers request by ACME."""

import asyncio
from collections.abc import Callable
from typing import Any

from evenkeel.cli.client import API_PATH, Client
from evenkeel.demo.waiting import StepFailed, wait_until

SERVER_NAME = "www.example.org"
CERTIFICATE_NAME = "website"


class AcmeCertificates:
    """Has the controllers request certificates for :data:`SERVER_NAME` from the authority's ACME server.
    ``say`` prints a line; ``proof``: text about how the name is proven.
    """

    def __init__(self, client: Client, say: Callable[[str], None], *, proof: str) -> None:
        self._client = client
        self._say = say
        self._proof = proof

    async def provide_first(self, project_id: str) -> str:
        """Request the first certificate, wait until it is issued, and return its reference. Raises
        :class:`StepFailed` with its state if it is not issued in time, and :class:`ClientError`.
        """
        body = {"project_id": project_id, "name": CERTIFICATE_NAME, "names": [SERVER_NAME]}
        await asyncio.to_thread(self._client.post, f"{API_PATH}/certificates", {"certificate": body})
        self._say(f"a certificate for {SERVER_NAME} is requested from the demo's own authority by ACME")
        found: dict[str, Any] = {}

        async def is_issued() -> bool:
            found.update(await asyncio.to_thread(self._show_certificate, project_id))
            return bool(found["state"] == "issued")

        try:
            await wait_until(is_issued, "the certificate to be issued")
        except StepFailed as error:
            raise StepFailed(f"{error}; it is {found['state']}: {found['problem']}") from error
        self._say(f"{self._proof}, and the certificate is issued: {found['reference']}")
        return str(found["reference"])

    async def replace_certificate(self, project_id: str) -> None:
        """Revoke the certificate, so that controllers order another one under the same reference at once;
        returns before it is issued. Raises :class:`ClientError`.
        """
        path = f"{API_PATH}/certificates/{project_id}/{CERTIFICATE_NAME}/revoke"
        await asyncio.to_thread(self._client.put, path, {"revocation": {"reason": "superseded"}})
        self._say("the certificate is revoked; the controllers order another one with a new key")

    def _show_certificate(self, project_id: str) -> dict[str, Any]:
        path = f"{API_PATH}/certificates/{project_id}/{CERTIFICATE_NAME}"
        shown: dict[str, Any] = self._client.get(path, {})["certificate"]
        return shown
