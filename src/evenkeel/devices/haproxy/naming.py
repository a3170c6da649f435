"""Names of partitions and HAProxy objects, and recognition of this environment's partitions. No I/O.

A tenant's partition, which has a HAProxy of its own, is ``<prefix>_<project id>``. The encoded project id
contains no ``_``, so the last ``_`` of a name ends the prefix, and environment ``dev`` never mistakes a
partition of ``dev_a`` for its own. Inside a partition objects are named by id: frontends by listener id,
backends by pool id, servers by member id.
"""

import hashlib
import re

from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.kit.values import Value
from evenkeel.devices.errors import Unrenderable

# Shorter than the identifier limit elsewhere: with the longest prefix, a name reaches the daemon's limit of 127
# characters.
_PLAIN_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,59}")
_PREFIX_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_ID_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


class HaproxyNames(Value):
    """Names that one environment uses. Raises :class:`ValueError` if the prefix cannot be part of a name."""

    prefix: str

    def __post_init__(self) -> None:
        if not _PREFIX_PATTERN.fullmatch(self.prefix):
            raise ValueError(
                f"prefix: {self.prefix!r}: letters, digits, '_', '.' and '-' are allowed, a letter or digit first, "
                "at most 64"
            )

    def partition_name(self, project_id: ProjectId) -> str:
        """Return the name of the project's partition: prefix, ``_``, and the project id or its digest
        (:func:`plain_or_digest`). Different projects and prefixes give different names.
        """
        return f"{self.prefix}_{plain_or_digest(project_id)}"

    def project_of(self, partition: str) -> ProjectId | None:
        """Return the project whose partition has this name; None if the name does not have this environment's
        prefix, or has a digest instead of the project id.
        """
        prefix, _, tail = partition.rpartition("_")
        return ProjectId(tail) if prefix == self.prefix and _PLAIN_PATTERN.fullmatch(tail) else None

    def is_own_partition(self, partition: str) -> bool:
        """Whether the partition's name has this environment's prefix."""
        return partition.rpartition("_")[0] == self.prefix


def plain_or_digest(text: str) -> str:
    """Return ``text`` if it has at most 60 letters, digits, ``.`` and ``-``, a letter or digit first; else
    ``-`` and 40 hex digits of its SHA-256.

    Neither form contains ``_``, and no plain text begins with ``-``.
    """
    return text if _PLAIN_PATTERN.fullmatch(text) else f"-{hashlib.sha256(text.encode()).hexdigest()[:40]}"


def object_name(kind: str, object_id: str) -> str:
    """Return the object's name, which is its id. Raises :class:`Unrenderable` for an id with characters that
    are not allowed; ``:`` is reserved for :func:`auxiliary_name`.
    """
    if not _ID_PATTERN.fullmatch(object_id):
        raise Unrenderable(f"{kind}: id {object_id!r}: letters, digits, '_', '.' and '-' are allowed, at most 64")
    return object_id


def auxiliary_name(name: str, what: str) -> str:
    """Return the name ``<name>:<what>`` of an auxiliary object that belongs to the object ``name``."""
    return f"{name}:{what}"


def object_id(name: str) -> str:
    """Return the id of the LBaaS object in the name of an object, or of an auxiliary object that belongs to
    it.
    """
    return name.partition(":")[0]
