"""Keys of ACME accounts and of orders under way, and issued certificates, in the key manager.

The database has no keys: a controller that continues another's order finds the order's key in the key
manager.
"""

import contextlib
import hashlib

from evenkeel.core.kit.errors import Conflict, NotFound
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.ports import CertificateStore, KeyManager, KeyPairMaker
from evenkeel.core.tls.acme.values import ACME_PROJECT, AcmeCertificate, IssuedChain
from evenkeel.core.tls.certificates import CertificateKind, NewCertificate, PrivateKey, Secret, StoredCertificate

ACCOUNT_NAME = "evenkeel-acme-account"
KEPT_DAYS = 36_500
"""Lifetime of self-signed certificates that only keep a key: nothing checks it."""


class AcmeKeys:
    """Keeps keys of ACME accounts and orders, and issued certificates, in the key manager. Every method
    raises :class:`KeyManagerUnavailable`.
    """

    def __init__(self, certificates: CertificateStore, key_manager: KeyManager, maker: KeyPairMaker) -> None:
        self._certificates = certificates
        self._key_manager = key_manager
        self._maker = maker
        self._accounts: dict[str, PrivateKey] = {}

    async def account_key(self, identity: str) -> PrivateKey:
        """Return the key of the account of this identity: the authority's directory, with the identifier of
        the external account if there is one. Creates a key if there is none. All controllers get the same
        key. Raises :class:`KeyManagerUnavailable`, :class:`CertificateError`.
        """
        if identity not in self._accounts:
            name = f"account-{hashlib.sha256(identity.encode()).hexdigest()[:16]}"
            self._accounts[identity] = await self._find_or_make_key(name, (ACCOUNT_NAME,))
        return self._accounts[identity]

    async def order_key(self, certificate: AcmeCertificate) -> PrivateKey:
        """Return the key of the certificate's order under way; creates one if there is none. Raises
        :class:`KeyManagerUnavailable`, :class:`CertificateError`.
        """
        return await self._find_or_make_key(certificate.id, certificate.names)

    async def store_certificate(
        self, certificate: AcmeCertificate, issued: IssuedChain, key: PrivateKey
    ) -> StoredCertificate:
        """Store the issued certificate and its key under the requested name, in place of the former one.
        Raises :class:`KeyManagerUnavailable`, :class:`CertificateError`.
        """
        new = _new_certificate(certificate.project_id, certificate.name, Secret(issued.chain + key.reveal()))
        return await self._certificates.add(new, replace=True)

    async def delete_order_key(self, certificate: AcmeCertificate) -> None:
        """Delete the key of the certificate's order, if there is one. Raises :class:`KeyManagerUnavailable`."""
        with contextlib.suppress(NotFound):
            await self._certificates.delete(ACME_PROJECT, certificate.id)

    async def issued_certificate(self, certificate: AcmeCertificate) -> str:
        """Return the issued certificate, PEM, without intermediates. Raises :class:`NotFound` if the key
        manager does not have it, :class:`KeyManagerUnavailable`, :class:`CertificateError`.
        """
        kept = await self._certificates.show(certificate.project_id, certificate.name)
        return (await self._key_manager.certificate(kept.reference, certificate.project_id)).certificate

    async def delete_certificate(self, certificate: AcmeCertificate) -> None:
        """Delete the certificate that the key manager has under the requested name, if there is one. Raises
        :class:`KeyManagerUnavailable`.
        """
        with contextlib.suppress(NotFound):
            await self._certificates.delete(certificate.project_id, certificate.name)

    async def _find_or_make_key(self, name: str, names: tuple[str, ...]) -> PrivateKey:
        try:
            kept = await self._certificates.show(ACME_PROJECT, name)
        except NotFound:
            pair = await self._maker.self_signed(names, days=KEPT_DAYS)
            # Another controller may have stored one meanwhile: then its key is the one.
            with contextlib.suppress(Conflict):
                await self._certificates.add(_new_certificate(ACME_PROJECT, name, pair), replace=False)
            kept = await self._certificates.show(ACME_PROJECT, name)
        return (await self._key_manager.certificate(kept.reference, ACME_PROJECT)).private_key


def _new_certificate(project_id: ProjectId, name: str, content: Secret) -> NewCertificate:
    return NewCertificate(project_id=project_id, name=name, kind=CertificateKind.CERTIFICATE, content=content)
