"""What our partitions are called and how we know them again. Nothing here does I/O.

A tenant's partition is ``<prefix>_<project id>``; what stands for the project id holds no ``_``, so the last one of a
name ends the prefix, and an environment ``dev`` never takes what belongs to ``dev_a`` for its own. Inside a partition
objects are called by their ids: frontends by the listener's, backends by the pool's, servers by the member's.
"""

import hashlib
import re

from evenkeel.core.ids import ProjectId
from evenkeel.core.values import Value
from evenkeel.devices.errors import Unrenderable

# Shorter than what identifiers may be elsewhere: with the longest prefix, the daemon takes 127 characters.
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,59}")
_PREFIX = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


class HaproxyNames(Value):
    """How one environment names things. Raises :class:`ValueError` where the prefix cannot be part of a name."""

    prefix: str

    def __post_init__(self) -> None:
        if not _PREFIX.fullmatch(self.prefix):
            raise ValueError(
                f"prefix: {self.prefix!r}: letters, digits, '_', '.' and '-' are allowed, a letter or digit first, "
                "at most 64"
            )

    def partition(self, project_id: ProjectId) -> str:
        """The tenant's partition. No two pairs of prefix and project id share one: see :func:`plain`."""
        return f"{self.prefix}_{plain(project_id)}"

    def owns(self, partition: str) -> bool:
        """Is it a partition of this environment?"""
        return partition.rpartition("_")[0] == self.prefix


def plain(text: str) -> str:
    """``text``, or ``-`` and its digest if it holds anything that could mean something in a name.

    Neither form holds ``_``, and no plain text begins with ``-``.
    """
    return text if _PLAIN.fullmatch(text) else f"-{hashlib.sha256(text.encode()).hexdigest()[:40]}"


def object_name(kind: str, object_id: str) -> str:
    """What the object is called: its id. ``:`` is kept for what stands beside it, see :func:`beside`."""
    if not _ID.fullmatch(object_id):
        raise Unrenderable(f"{kind}: id {object_id!r}: letters, digits, '_', '.' and '-' are allowed, at most 64")
    return object_id


def beside(name: str, what: str) -> str:
    """The name of something that only helps the object of that name."""
    return f"{name}:{what}"


def object_id(name: str) -> str:
    """The id of the object that a name, or one beside it, stands for."""
    return name.partition(":")[0]
