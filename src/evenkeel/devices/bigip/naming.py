"""What our objects are called and how we know them again.

A name says which object it is, the *mark* in ``description`` says whose: of which device group of which environment.
Ownership is decided by the whole mark and never by the beginning of a name, so that an environment ``dev`` cannot touch
what belongs to ``dev_a``, nor device group 2 of ``dev`` what belongs to group 1. Marks of earlier versions name no
group; they are of whichever group of the environment the device and the partition are.
Nothing here does I/O.
"""

import hashlib
import ipaddress
import re

from evenkeel.core.ids import LoadBalancerId, ProjectId, SessionId
from evenkeel.core.values import Value

GUARD = "evenkeel_guard"
"""Name of the sentinel; a guard is called ``evenkeel_guard_<epoch>_<digest of the owner's session>``."""
CLAIM = "evenkeel_owner"
COMMON = "Common"
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,63}")
_PLAIN_BEFORE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_ENVIRONMENT = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_GROUP = re.compile(r"[0-9]{1,9}")
CERTIFICATE, KEY, CHAIN, AUTHORITY, REVOCATION = ".crt", ".key", "-chain.crt", "-ca.crt", ".crl"
"""How the names of files end."""
_FILE_TAIL = re.compile(r"[0-9a-f]{64}(\.crt|\.key|-chain\.crt|-ca\.crt|\.crl)")
_GUARD_NAME = re.compile(rf"{GUARD}_(0|[1-9][0-9]{{0,99}})(?:_([0-9a-f]{{12}}))?")


class Mark(Value):
    """Who owns an object: device group, kind and load balancer; ``object_id`` is the id of what it stands for."""

    environment: str
    kind: str
    load_balancer_id: LoadBalancerId = LoadBalancerId("")
    object_id: str = ""
    group: int | None = None
    """None: written by a version that did not tell the groups of an environment apart."""

    @property
    def owner(self) -> str:
        """Whose it is, for people."""
        if self.group is None:
            return f"environment {self.environment}"
        return f"device group {self.environment}/{self.group}"

    def text(self) -> str:
        """The mark as kept in ``description``."""
        place = self.environment if self.group is None else f"{self.environment}/{self.group}"
        return ":".join(("evenkeel", place, self.kind, self.load_balancer_id, self.object_id)).rstrip(":")


def parse_mark(description: object) -> Mark | None:
    """The mark in a description; None if there is none, or one that we did not write."""
    fields = description.split(":") if isinstance(description, str) else []
    if not 3 <= len(fields) <= 5 or fields[0] != "evenkeel" or not fields[1] or not fields[2]:
        return None
    fields += [""] * (5 - len(fields))
    environment, group = _place(fields[1])
    return Mark(
        environment=environment,
        group=group,
        kind=fields[2],
        load_balancer_id=LoadBalancerId(fields[3]),
        object_id=fields[4],
    )


def parse_marked_code(code: object) -> Mark | None:
    """The mark in an iRule, which has no description: its first line, a comment."""
    first = code.strip().partition("\n")[0] if isinstance(code, str) else ""
    return parse_mark(first.removeprefix("# ")) if first.startswith("# ") else None


def _place(text: str) -> tuple[str, int | None]:
    """Environment and group; what is not of this form is an environment that is nobody's here."""
    environment, _, group = text.partition("/")
    return (environment, int(group)) if _GROUP.fullmatch(group) else (text, None)


class BigIpNames(Value):
    """How one device group names things. Raises :class:`ValueError` where its environment cannot be part of a name."""

    environment: str
    prefix: str
    group: int

    def __post_init__(self) -> None:
        for what, text in (("environment", self.environment), ("prefix", self.prefix)):
            if not _ENVIRONMENT.fullmatch(text):
                raise ValueError(f"{what}: {text!r}: letters, digits, '_', '.' and '-' are allowed, at most 64")

    def partition(self, project_id: ProjectId) -> str:
        """The tenant's partition. No two pairs of prefix and project id share one: see :func:`plain`."""
        return f"{self.prefix}_{plain(project_id)}"

    def former_partition(self, project_id: ProjectId) -> str:
        """What the first version called the tenant's partition; empty if it is called so still.

        It took ``_`` for plain, so tenant ``a_x`` of ``dev`` and tenant ``x`` of ``dev_a`` shared a name.
        """
        tail = project_id if _PLAIN_BEFORE.fullmatch(project_id) else f"x{_digest(project_id)}"
        former = f"{self.prefix}_{tail}"
        return "" if former == self.partition(project_id) else former

    def of(self, object_id: str) -> str:
        """The name of the object that stands for ``object_id``."""
        return f"{self.prefix}_{plain(object_id)}"

    def helper(self, kind: str, object_id: str) -> str:
        """The name of an object that only helps another one, such as a profile of a listener."""
        return f"{self.prefix}_{kind}_{plain(object_id)}"

    def file(self, sha256: str, suffix: str) -> str:
        """The name of a file, after what is in it."""
        return f"{self.prefix}_{sha256}{suffix}"

    def is_file(self, name: str) -> bool:
        """Is it the name of a file of ours? In a partition that we guard nobody else gives such names."""
        return name.startswith(f"{self.prefix}_") and bool(_FILE_TAIL.fullmatch(name[len(self.prefix) + 1 :]))

    def mark(self, kind: str, load_balancer_id: LoadBalancerId = LoadBalancerId(""), object_id: str = "") -> str:
        """The description of an object of ours."""
        return Mark(
            environment=self.environment,
            group=self.group,
            kind=kind,
            load_balancer_id=load_balancer_id,
            object_id=object_id,
        ).text()

    @property
    def place(self) -> str:
        """The device group, for people."""
        return f"device group {self.environment}/{self.group}"

    @property
    def device_claim(self) -> str:
        """The name of the data group in /Common that says whose the device is."""
        return f"{CLAIM}_{self.environment}"

    def owns(self, mark: Mark | None) -> bool:
        """Is it this device group's?"""
        return mark is not None and mark.environment == self.environment and mark.group in (None, self.group)

    def own(self, description: object) -> Mark | None:
        """The mark, if it is this device group's."""
        mark = parse_mark(description)
        return mark if self.owns(mark) else None


def plain(text: str) -> str:
    """``text``, or ``-`` and its digest if it holds anything that could mean something in a name or URI.

    Neither form holds ``_``, so the last one of a name ends the prefix; and no plain text begins with ``-``.
    """
    return text if _PLAIN.fullmatch(text) else f"-{_digest(text)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:40]


class Guard(Value):
    """A guard by its name: the epoch, and which session owns at it. ``session`` is a digest, empty in the names that
    earlier versions gave, which did not tell two owners of one epoch apart."""

    epoch: int
    session: str = ""

    @property
    def name(self) -> str:
        """The data group's name."""
        return f"{GUARD}_{self.epoch}_{self.session}" if self.session else f"{GUARD}_{self.epoch}"


def guard_of(epoch: int, session_id: SessionId) -> Guard:
    """The guard of an owner."""
    return Guard(epoch=epoch, session=_digest(session_id)[:12])


def parse_guard(name: str) -> Guard | None:
    """What a data group's name stands for; None if it is no guard. Its epoch may be none that anybody can have."""
    found = _GUARD_NAME.fullmatch(name)
    return Guard(epoch=int(found[1]), session=found[2] or "") if found else None


def segment(partition: str, name: str) -> str:
    """The last part of an object's URI, ``~P~X``, with what URIs reserve encoded."""
    return f"~{partition}~{name}".replace("%", "%25")


def endpoint(address: str, port: int) -> str:
    """``10.0.0.1:80``, ``2001:db8::1.80``: a pool member's name."""
    return f"{address}.{port}" if ":" in address else f"{address}:{port}"


def address_of(text: str) -> str:
    """An IP address in its one canonical form. Raises :class:`ValueError`."""
    return str(ipaddress.ip_address(text))
