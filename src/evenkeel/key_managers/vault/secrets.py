"""Reads secrets of Vault's KV engine, which have a folder for each project. Blocking."""

from collections.abc import Mapping
from typing import Any

import hvac
from hvac import exceptions

from evenkeel.core.kit.errors import CertificateNotFound, KeyManagerUnavailable
from evenkeel.core.kit.ids import ProjectId
from evenkeel.key_managers.places import CertificatePlace, is_valid_name, place_of
from evenkeel.key_managers.vault.login import LoggedIn, LoginRefused

SCHEME = "vault"


class SecretFolders:
    """Reads secrets from the projects' folders below ``folder``, in the secrets engine mounted at ``mount_point``."""

    def __init__(self, session: LoggedIn, *, mount_point: str, folder: str) -> None:
        self._session = session
        self._mount_point = mount_point
        self._folder = folder

    def fields(self, reference: str, project_id: ProjectId) -> Mapping[str, str]:
        """Return ``{field: text}`` of a secret's newest version. Raises :class:`CertificateNotFound`, also for another
        project's secret, and :class:`KeyManagerUnavailable`.
        """
        place = place_in_project(reference, project_id)
        if place is None:
            raise CertificateNotFound(reference)
        path = "/".join(filter(None, (self._folder, place.project_id, place.name)))

        def read(client: hvac.Client) -> Any:
            return client.secrets.kv.v2.read_secret_version(
                path, mount_point=self._mount_point, raise_on_deleted_version=True
            )

        try:
            found = self._session.call(read)
        except (exceptions.InvalidPath, exceptions.Forbidden):
            # Vault answers 403 for a path that its policies close; to tenants that is the same as a missing secret.
            raise CertificateNotFound(reference) from None
        except LoginRefused as error:
            raise KeyManagerUnavailable(f"Vault {error}") from None
        except (exceptions.VaultError, OSError) as error:  # OSError includes requests' exceptions and those of files
            raise KeyManagerUnavailable(f"Vault is out of reach or failing ({type(error).__name__})") from None
        return _texts(found)


def place_in_project(reference: str, project_id: ProjectId) -> CertificatePlace | None:
    """Return the place that ``vault://PROJECT/NAME``, or a name alone (such as castellan's ids), refers to; None if it
    is no reference to Vault, or a reference to another project's secret.
    """
    place = place_of(SCHEME, f"{SCHEME}://{project_id}/{reference}" if is_valid_name(reference) else reference)
    return place if place is not None and place.project_id == project_id else None


def _texts(answer: Any) -> Mapping[str, str]:
    try:
        fields = answer["data"]["data"]
        return {name: value for name, value in fields.items() if isinstance(value, str)}
    except (KeyError, TypeError, AttributeError):
        raise KeyManagerUnavailable("Vault's answer is not understood") from None
