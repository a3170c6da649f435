"""References of the form ``scheme://PROJECT/NAME``, for key managers with a folder per project. Pure."""

import re
from collections.abc import Iterator
from itertools import islice

from evenkeel.core.kit.errors import Invalid
from evenkeel.core.kit.values import Value

PROJECT_RULE = "1 to 36 letters, digits, '.', '-' and '_', not beginning with '.'"
LISTED_MAX = 1000
"""Maximum number of certificates in a list."""
NAME_RULE = "1 to 100 letters, digits, '.', '-' and '_', beginning with a letter or a digit"

_PROJECT_PATTERN = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,35}")
_NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class CertificateAddress(Value):
    """Address of one certificate, CA bundle or revocation list in a key manager."""

    scheme: str
    """URL scheme of references: the key manager's name."""
    project_id: str
    name: str

    @property
    def reference(self) -> str:
        """Reference that listeners and pools use: ``scheme://project/name``."""
        return f"{self.scheme}://{self.project_id}/{self.name}"


def list_with_limit(places: Iterator[CertificateAddress]) -> list[CertificateAddress]:
    """Return ``places`` as a list, in the same order. Raises :class:`Invalid` for more than
    :data:`LISTED_MAX`.
    """
    # One more than allowed is read, to see whether there are more.
    found = list(islice(places, LISTED_MAX + 1))
    if len(found) > LISTED_MAX:
        raise Invalid(f"There are more than {LISTED_MAX} certificates: name a project_id.")
    return found


def parse_certificate_address(scheme: str, reference: str) -> CertificateAddress | None:
    """Return the place that a reference names; None if it is no valid reference of this scheme. Neither part
    can contain a path separator, so the place is always inside the project's folder.
    """
    start = f"{scheme}://"
    project_id, slash, name = reference.removeprefix(start).partition("/")
    if not (reference.startswith(start) and slash and _PROJECT_PATTERN.fullmatch(project_id) and is_valid_name(name)):
        return None
    return CertificateAddress(scheme=scheme, project_id=project_id, name=name)


def is_valid_name(name: str) -> bool:
    """Whether the text is a valid name in a project's folder: see :data:`NAME_RULE`."""
    return _NAME_PATTERN.fullmatch(name) is not None


def checked_certificate_address(scheme: str, project_id: str, name: str) -> CertificateAddress:
    """Return the place of a project's certificate of this name, whether or not it exists. Raises
    :class:`Invalid` naming field and value if the project id or the name breaks :data:`PROJECT_RULE` or
    :data:`NAME_RULE`.
    """
    for field, value, rule, allowed in (
        ("project_id", project_id, _PROJECT_PATTERN, PROJECT_RULE),
        ("name", name, _NAME_PATTERN, NAME_RULE),
    ):
        if not rule.fullmatch(value):
            raise Invalid(
                f"Invalid input for field/attribute {field}. Value: '{value[:100]}'. Value should be {allowed}."
            )
    return CertificateAddress(scheme=scheme, project_id=project_id, name=name)
