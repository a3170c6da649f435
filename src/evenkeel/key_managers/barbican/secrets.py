"""Reads secrets and containers over Barbican's HTTP API v1. Blocking.

https://docs.openstack.org/barbican/latest/api/reference/secrets.html
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import requests
from keystoneauth1 import exceptions as auth_errors
from keystoneauth1.adapter import Adapter

from evenkeel.core.kit.errors import CertificateNotFound, KeyManagerUnavailable
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.tls.certificates import REVOCATION_LIST_BYTES_MAX
from evenkeel.key_managers.barbican.references import BarbicanReference, parse_barbican_reference
from evenkeel.key_managers.responses import read_at_most

SECRET_BYTES_MAX = REVOCATION_LIST_BYTES_MAX + 1
"""Maximum number of bytes read of a secret; one byte over the limit, so that a larger one is reported as too large."""
PARTS_MAX = 20
_NOT_READABLE = frozenset({403, 404, 406, 410})
"""Statuses of a secret that is absent, or not readable for the project. 406: it has no payload of its declared content
type.
"""

BarbicanAdapterForProject = Callable[[ProjectId], Adapter]
"""Function that returns a keystoneauth adapter of Barbican's endpoint, authenticated for a project."""


class SecretReader:
    """Reads Barbican's secrets and containers in the name of a project: Barbican decides what the project may
    read. Every method raises :class:`CertificateNotFound` for what is missing or not readable for the
    project, and :class:`KeyManagerUnavailable`.
    """

    def __init__(self, adapter_of: BarbicanAdapterForProject) -> None:
        self._adapter_of = adapter_of

    def read_secret(self, reference: str, project_id: ProjectId, *, shown_as: str = "") -> bytes:
        """Return the payload of a secret, at most :data:`SECRET_BYTES_MAX` bytes. ``shown_as``: reference to
        name in errors in place of ``reference``, if the secret is a part of a container. Raises
        :class:`CertificateNotFound`, :class:`KeyManagerUnavailable`.
        """
        shown = shown_as or reference
        place = _parse_reference(reference, "secrets", shown)
        # Barbican answers 406 unless the request accepts the payload's own content type, so that is read first.
        described = self._get_json(place.path, project_id, shown)
        kind = (described.get("content_types") or {}).get("default")
        if not isinstance(kind, str):
            raise CertificateNotFound(shown)
        return self._get_content(f"{place.path}/payload", kind, project_id, shown)

    def read_parts(self, reference: str, project_id: ProjectId) -> Mapping[str, str]:
        """Return {name: reference} of the secrets in a container. Raises :class:`CertificateNotFound`, also
        for a container of another type than ``certificate`` or with more than :data:`PARTS_MAX` secrets;
        :class:`KeyManagerUnavailable`.
        """
        place = _parse_reference(reference, "containers", reference)
        container = self._get_json(place.path, project_id, reference)
        listed = container.get("secret_refs")
        if container.get("type") != "certificate" or not isinstance(listed, list) or len(listed) > PARTS_MAX:
            raise CertificateNotFound(reference)
        parts = [(row.get("name"), row.get("secret_ref")) for row in listed if isinstance(row, dict)]
        return {name: ref for name, ref in parts if isinstance(name, str) and isinstance(ref, str)}

    def _get_json(self, path: str, project_id: ProjectId, shown: str) -> dict[str, Any]:
        content = self._get_content(path, "application/json", project_id, shown)
        try:
            return msgspec.json.decode(content, type=dict[str, Any])
        except msgspec.DecodeError:
            raise KeyManagerUnavailable("Barbican's answer is not understood") from None

    def _get_content(self, path: str, accept: str, project_id: ProjectId, shown: str) -> bytes:
        try:
            adapter = self._adapter_of(project_id)
            # log=False: at level debug keystoneauth would log the response
            # redirect=False: a redirect would send the project's token to another host. Statuses are checked here,
            # because keystoneauth's exceptions contain the response.
            answer = adapter.get(
                path, headers={"Accept": accept}, log=False, stream=True, redirect=False, raise_exc=False
            )
            with answer:
                _check_status(answer.status_code, shown)
                return read_at_most(answer, SECRET_BYTES_MAX)
        except (auth_errors.ClientException, requests.RequestException) as error:
            _check_status(getattr(error, "http_status", None) or 0, shown)
            name = type(error).__name__
            raise KeyManagerUnavailable(f"Barbican or Keystone is out of reach or failing ({name})") from None


def _check_status(status: int, shown: str) -> None:
    """Raise the error for an unsuccessful HTTP status: :class:`CertificateNotFound` for 403, 404, 406 and
    410, :class:`KeyManagerUnavailable` for the others. Nothing is raised for 0 (no response) and below
    300. ``shown``: reference to name. Response texts are dropped.
    """
    if status in _NOT_READABLE:
        raise CertificateNotFound(shown)
    if status == 401:
        raise KeyManagerUnavailable("Keystone or Barbican refuses the controllers' login for the project")
    if status >= 300:
        raise KeyManagerUnavailable(f"Barbican or Keystone is failing (HTTP {status})")


def _parse_reference(reference: str, kind: str, shown: str) -> BarbicanReference:
    place = parse_barbican_reference(reference)
    if place is None or place.kind != kind:
        raise CertificateNotFound(shown)
    return place
