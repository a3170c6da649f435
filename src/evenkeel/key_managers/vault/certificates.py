"""The port ``CertificateStore``, implemented with Vault: certificates of operators and of authorities."""

from msgspec.structs import replace as changed

from evenkeel.core.kit.blocking import BlockingCalls
from evenkeel.core.kit.errors import Conflict, KeyManagerUnavailable, NotFound
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.tls.certificates import NewCertificate, StoredCertificate
from evenkeel.key_managers.places import CertificateAddress, checked_certificate_address, list_with_limit
from evenkeel.key_managers.vault.fields import describe_certificate, fields_of_new_certificate
from evenkeel.key_managers.vault.secrets import SCHEME, SecretFolders


class VaultCertificates:
    """Stores certificates in the projects' folders in Vault, in a thread pool, each call within
    ``timeout_seconds``. Every call to Vault raises :class:`KeyManagerUnavailable`; every method but
    :meth:`close` raises :class:`Invalid` for a project id or name that no reference can contain.
    """

    def __init__(self, folders: SecretFolders, *, timeout_seconds: float) -> None:
        self._folders = folders
        self._calls = BlockingCalls("Vault", unavailable=KeyManagerUnavailable, timeout_seconds=timeout_seconds)

    def reference(self, project_id: ProjectId, name: str) -> str:
        """Return the reference to the project's certificate of this name, whether or not it exists. Raises
        :class:`Invalid` naming field and value.
        """
        return checked_certificate_address(SCHEME, project_id, name).reference

    async def add(self, new: NewCertificate, *, replace: bool) -> StoredCertificate:
        """Check a certificate and write it to the project's folder; return its description. Raises
        :class:`CertificateError` for an unusable certificate, :class:`Invalid` naming field and value,
        :class:`Conflict` if there is one of this name, unless ``replace``, and
        :class:`KeyManagerUnavailable`.
        """
        place = checked_certificate_address(SCHEME, new.project_id, new.name)

        def work() -> StoredCertificate:
            fields, warnings = fields_of_new_certificate(new, place.reference)
            if not self._folders.write(place, fields, replace=replace):
                raise Conflict(f"There is a {place.reference} already.")
            return changed(self._read_stored_certificate(place), warnings=warnings)

        return await self._calls.run(work)

    async def list_certificates(self, project_id: ProjectId | None) -> tuple[StoredCertificate, ...]:
        """List the certificates of the project (None: of all projects), sorted by project and name. Raises
        :class:`Invalid` for an impossible project id or if there are more than :data:`LISTED_MAX`,
        :class:`KeyManagerUnavailable`.
        """
        if project_id is not None:
            # Only the project id is checked here: it becomes a part of a path.
            checked_certificate_address(SCHEME, project_id, "any")

        def work() -> tuple[StoredCertificate, ...]:
            places = list_with_limit(self._folders.list_certificate_addresses(project_id))
            found = zip(places, self._folders.newest_versions(places), strict=True)
            # One may be deleted while the list is read.
            return tuple(describe_certificate(place, *version) for place, version in found if version is not None)

        return await self._calls.run(work)

    async def show(self, project_id: ProjectId, name: str) -> StoredCertificate:
        """Read a certificate's description for operators, without its private key. Raises :class:`NotFound`,
        :class:`Invalid` for an impossible name, :class:`KeyManagerUnavailable`.
        """
        place = checked_certificate_address(SCHEME, project_id, name)
        return await self._calls.run(lambda: self._read_stored_certificate(place))

    async def delete(self, project_id: ProjectId, name: str) -> None:
        """Delete the certificate with all its versions. Raises :class:`NotFound`, :class:`Invalid` for an
        impossible name, :class:`KeyManagerUnavailable`.
        """
        place = checked_certificate_address(SCHEME, project_id, name)
        if not await self._calls.run(lambda: self._folders.delete(place)):
            raise NotFound("Certificate", place.reference)

    def close(self) -> None:
        """Close the thread pool: calls that start from now on are refused; calls that are running finish."""
        self._calls.close()

    def _read_stored_certificate(self, place: CertificateAddress) -> StoredCertificate:
        version = self._folders.newest_version(place)
        if version is None:
            raise NotFound("Certificate", place.reference)
        return describe_certificate(place, *version)
