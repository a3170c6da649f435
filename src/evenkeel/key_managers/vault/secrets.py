"""Reads and writes secrets of Vault's KV engine, which have a folder for each project. Blocking."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import hvac
from hvac import exceptions

from evenkeel.core.kit.errors import CertificateNotFound, KeyManagerUnavailable
from evenkeel.core.kit.ids import ProjectId
from evenkeel.key_managers.places import CertificateAddress, is_valid_name, parse_certificate_address
from evenkeel.key_managers.vault.login import LoggedInClient, LoginRefused

SCHEME = "vault"

T = TypeVar("T")


READERS = 8
"""Number of secrets of a list that are read at the same time."""


class SecretVersion(NamedTuple):
    """The newest version of a secret in Vault."""

    fields: Mapping[str, str]
    created_at: str
    """Time at which the version was created, as Vault writes it (RFC 3339)."""


class SecretFolders:
    """Reads and writes secrets in Vault: each project has a folder below ``folder``, in the secrets engine at
    ``mount_point``.

    Every method raises :class:`KeyManagerUnavailable`.
    """

    def __init__(self, session: LoggedInClient, *, mount_point: str, folder: str) -> None:
        self._session = session
        self._mount_point = mount_point
        self._folder = folder

    def read_fields(self, reference: str, project_id: ProjectId) -> Mapping[str, str]:
        """Return {field: text} of a secret's newest version. Raises :class:`CertificateNotFound` if the
        secret is missing, another project's, or closed by Vault's policies;
        :class:`KeyManagerUnavailable`.
        """
        place = certificate_address_in_project(reference, project_id)
        try:
            found = None if place is None else self._read_version(place)
        except exceptions.Forbidden:
            # Vault answers 403 for a path that its policies close; to tenants that is the same as a missing secret.
            found = None
        if found is None:
            raise CertificateNotFound(reference)
        return found.fields

    def newest_version(self, place: CertificateAddress) -> SecretVersion | None:
        """Return the newest version of a secret; None if there is none. Raises
        :class:`KeyManagerUnavailable`, also if Vault's policy forbids the read.
        """
        return self._translate_forbidden(lambda: self._read_version(place))

    def newest_versions(self, places: Sequence[CertificateAddress]) -> list[SecretVersion | None]:
        """Return the newest version of each secret (None: it is missing), in the order of ``places``;
        :data:`READERS` secrets are read at a time. Raises :class:`KeyManagerUnavailable`.
        """
        with ThreadPoolExecutor(READERS, thread_name_prefix="Vault list") as readers:
            # Its first error cancels the reads that wait, which would fail as well, each after its time-out.
            return list(readers.map(self.newest_version, places))

    def _read_version(self, place: CertificateAddress) -> SecretVersion | None:
        """Return the newest version of a secret; None if there is none or it was deleted. Raises
        :class:`exceptions.Forbidden`, :class:`KeyManagerUnavailable`.
        """

        def read_version(client: hvac.Client) -> Any:
            return client.secrets.kv.v2.read_secret_version(
                self._secret_path(place.project_id, place.name),
                mount_point=self._mount_point,
                raise_on_deleted_version=True,
            )

        try:
            return _parse_version(self._run_logged_in(read_version))
        except exceptions.InvalidPath:
            return None

    def write(self, place: CertificateAddress, fields: Mapping[str, str], *, replace: bool) -> bool:
        """Write a secret; older versions are not kept, because they contain private keys. Returns False, and
        writes nothing, if the secret exists and ``replace`` is False. Raises
        :class:`KeyManagerUnavailable`.
        """
        path = self._secret_path(place.project_id, place.name)
        # the number that the secret must still have when it is written: nothing that was stored meanwhile is replaced
        number = None if replace else self._version_number_if_deleted(path)
        if not replace and number is None:
            return False

        def work(client: hvac.Client) -> None:
            kv = client.secrets.kv.v2
            kv.update_metadata(path, max_versions=1, mount_point=self._mount_point)
            kv.create_or_update_secret(path, dict(fields), cas=number, mount_point=self._mount_point)

        try:
            self._translate_forbidden(lambda: self._run_logged_in(work, exceptions.InvalidRequest))
        except exceptions.InvalidRequest:
            if replace:
                raise KeyManagerUnavailable(f"Vault does not take the secret {place.reference}") from None
            return False
        return True

    def _version_number_if_deleted(self, path: str) -> int | None:
        """Return the version number that a new secret at this path must find: that of a deleted newest
        version, or 0 without any version. None if the secret exists. Raises
        :class:`KeyManagerUnavailable`.
        """

        def read(client: hvac.Client) -> int | None:
            return _deleted_version_number(
                client.secrets.kv.v2.read_secret_metadata(path, mount_point=self._mount_point)
            )

        try:
            return self._translate_forbidden(lambda: self._run_logged_in(read))
        except exceptions.InvalidPath:
            return 0

    def delete(self, place: CertificateAddress) -> bool:
        """Delete a secret with all its versions; return whether it existed. Raises
        :class:`KeyManagerUnavailable`.
        """
        path = self._secret_path(place.project_id, place.name)
        if self.newest_version(place) is None:
            return False
        self._translate_forbidden(
            lambda: self._run_logged_in(
                lambda client: client.secrets.kv.v2.delete_metadata_and_all_versions(
                    path, mount_point=self._mount_point
                )
            )
        )
        return True

    def list_certificate_addresses(self, project_id: ProjectId | None) -> Iterator[CertificateAddress]:
        """Yield the places of the project's secrets (None: of all projects'), sorted by project and name;
        subfolders and names that no reference can contain are left out. Raises
        :class:`KeyManagerUnavailable`.
        """
        projects = self._list_names() if project_id is None else [project_id]
        for project in projects:
            for name in self._list_names(project.removesuffix("/")):
                found = parse_certificate_address(SCHEME, f"{SCHEME}://{project.removesuffix('/')}/{name}")
                if found is not None:  # neither a folder nor of a name that no reference can have
                    yield found

    def _list_names(self, *below: str) -> list[str]:
        """Return the sorted names in a folder, empty if it does not exist; names of folders end with ``/``.
        Raises :class:`KeyManagerUnavailable`.
        """
        path = self._secret_path(*below)
        try:
            found = self._translate_forbidden(
                lambda: self._run_logged_in(
                    lambda client: client.secrets.kv.v2.list_secrets(path, mount_point=self._mount_point)
                )
            )
        except exceptions.InvalidPath:
            return []
        try:
            return sorted(each for each in found["data"]["keys"] if isinstance(each, str))
        except (KeyError, TypeError):
            raise KeyManagerUnavailable("Vault's answer is not understood") from None

    def _secret_path(self, *below: str) -> str:
        return "/".join(filter(None, (self._folder, *below)))

    def _translate_forbidden(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except exceptions.Forbidden:
            raise KeyManagerUnavailable(
                "Vault's policy does not allow the controllers to store certificates: see the option vault.writable"
            ) from None

    def _run_logged_in(self, work: Callable[[hvac.Client], T], *told: type[exceptions.VaultError]) -> T:
        """Run ``work`` with a valid login, and return its result.

        Raises :class:`exceptions.InvalidPath`, :class:`exceptions.Forbidden` and the exceptions ``told``; all others of
        Vault as :class:`KeyManagerUnavailable`.
        """
        try:
            return self._session.run_logged_in(work)
        except LoginRefused as error:
            raise KeyManagerUnavailable(f"Vault {error}") from None
        except (exceptions.InvalidPath, exceptions.Forbidden, *told):
            raise
        except (exceptions.VaultError, OSError) as error:  # OSError includes requests' exceptions and those of files
            raise KeyManagerUnavailable(f"Vault is out of reach or failing ({type(error).__name__})") from None


def certificate_address_in_project(reference: str, project_id: ProjectId) -> CertificateAddress | None:
    """Return the place that ``vault://PROJECT/NAME`` or a name alone (such as castellan's ids) refers to;
    None if the text is no reference to Vault, or refers to another project's secret.
    """
    place = parse_certificate_address(
        SCHEME, f"{SCHEME}://{project_id}/{reference}" if is_valid_name(reference) else reference
    )
    return place if place is not None and place.project_id == project_id else None


def _parse_version(answer: Any) -> SecretVersion:
    try:
        fields, described = answer["data"]["data"], answer["data"].get("metadata") or {}
        texts = {name: value for name, value in fields.items() if isinstance(value, str)}
        return SecretVersion(texts, str(described.get("created_time", "")))
    except (KeyError, TypeError, AttributeError):
        raise KeyManagerUnavailable("Vault's answer is not understood") from None


def _deleted_version_number(metadata: Any) -> int | None:
    """Return the number of a secret's newest version if that is deleted or was never written (0); else None.
    Raises :class:`KeyManagerUnavailable` for metadata of another form.
    """
    try:
        number = int(metadata["data"]["current_version"])
        newest = metadata["data"]["versions"].get(str(number))
        return number if newest is None or newest["deletion_time"] or newest["destroyed"] else None
    except (KeyError, TypeError, ValueError, AttributeError):
        raise KeyManagerUnavailable("Vault's answer is not understood") from None
