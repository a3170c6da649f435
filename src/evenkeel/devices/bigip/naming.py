"""Names of BIG-IP objects, and recognition of this device group's objects. No I/O.

A name identifies the object; the *mark* in ``description`` identifies the device group and environment that own it.
Only the whole mark decides ownership, never a name prefix, so environment ``dev`` cannot touch objects of ``dev_a``,
nor device group 2 of ``dev`` objects of group 1.
"""

import hashlib
import ipaddress
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from evenkeel.core.kit.ids import COMMON_PROJECT, LoadBalancerId, ProjectId, SessionId
from evenkeel.core.kit.values import Value
from evenkeel.core.networking.networks import traffic_group_of

GUARD_PREFIX = "evenkeel_guard"
"""Prefix of guards, which record a partition's owner: ``evenkeel_guard_<epoch>_<digest of the owner's session>``.

Without a suffix it is the name of the sentinel that exists beside any guard.
"""
REPLACED_OBJECTS_NAME = "evenkeel_replaced"
"""Name of the data group in an adopted partition that records objects of another program in /Common."""
DEVICE_CLAIM_PREFIX = "evenkeel_owner"
MINIMUM_EPOCH_PREFIX = "evenkeel_floor"
COMMON = "Common"
LOCAL_FOLDER = "evenkeel_local"
"""Folder in /Common that config-sync does not copy to other devices."""
_PLAIN_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,63}")
_ENVIRONMENT_PATTERN = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_GROUP_PATTERN = re.compile(r"[0-9]{1,9}")
CERTIFICATE, KEY, CHAIN, AUTHORITY, REVOCATION = ".crt", ".key", "-chain.crt", "-ca.crt", ".crl"
"""Suffixes of the names of files on a device."""
_FILE_SUFFIX_PATTERN = re.compile(r"[0-9a-f]{64}(\.crt|\.key|-chain\.crt|-ca\.crt|\.crl)")
_EXTERNAL_WORD = "external"
_GUARD_NAME_PATTERN = re.compile(rf"{GUARD_PREFIX}_(0|[1-9][0-9]{{0,99}})(?:_([0-9a-f]{{12}}))?")


class Mark(Value):
    """The owner of an object: environment, device group (``group``) and load balancer.

    ``object_id`` is the id of the LBaaS object that the marked object implements; ``kind`` the sort of
    object.
    """

    environment: str
    kind: str
    load_balancer_id: LoadBalancerId = LoadBalancerId("")
    object_id: str = ""
    group: int | None = None
    """Number of the device group; None: the mark has none, so it belongs to no group."""

    @property
    def owner(self) -> str:
        """Return the owner's environment and device group, for messages."""
        if self.group is None:
            return f"environment {self.environment}"
        return f"device group {self.environment}/{self.group}"

    @property
    def lbaas_object_kind(self) -> str:
        """Return the kind of LBaaS object that the marked object implements.

        Several objects may implement one LBaaS object, such as one at each VIP; a qualifier after ``-`` distinguishes
        them.
        """
        return self.kind.partition("-")[0]

    def text(self) -> str:
        """Return the mark as stored in ``description``."""
        place = self.environment if self.group is None else f"{self.environment}/{self.group}"
        return ":".join(("evenkeel", place, self.kind, self.load_balancer_id, self.object_id)).rstrip(":")


def parse_mark(description: object) -> Mark | None:
    """Parse the mark in a description; None if there is none of Even Keel's form. The mark may be another
    owner's.
    """
    fields = description.split(":") if isinstance(description, str) else []
    if not 3 <= len(fields) <= 5 or fields[0] != "evenkeel" or not fields[1] or not fields[2]:
        return None
    fields += [""] * (5 - len(fields))
    environment, group = _environment_and_group(fields[1])
    return Mark(
        environment=environment,
        group=group,
        kind=fields[2],
        load_balancer_id=LoadBalancerId(fields[3]),
        object_id=fields[4],
    )


def parse_marked_code(code: object) -> Mark | None:
    """Parse the mark of an iRule, a comment on its first line, because iRules have no description; None if
    there is none.
    """
    first = code.strip().partition("\n")[0] if isinstance(code, str) else ""
    return parse_mark(first.removeprefix("# ")) if first.startswith("# ") else None


def _environment_and_group(text: str) -> tuple[str, int | None]:
    """Split ``<environment>/<group number>``. Text of another form counts as an environment without a group
    (None), which equals none of Even Keel's.
    """
    environment, _, group = text.partition("/")
    return (environment, int(group)) if _GROUP_PATTERN.fullmatch(group) else (text, None)


class BigIpNames(Value):
    """Names of the objects of one device group. Raises :class:`ValueError` if environment or prefix cannot be
    part of a name.
    """

    environment: str
    prefix: str
    group: int
    traffic_groups: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for what, text in (("environment", self.environment), ("prefix", self.prefix)):
            if not _ENVIRONMENT_PATTERN.fullmatch(text):
                raise ValueError(f"{what}: {text!r}: letters, digits, '_', '.' and '-' are allowed, at most 64")

    def partition_name(self, project_id: ProjectId) -> str:
        """Return the name of the project's partition: prefix, ``_``, and the project id or its digest
        (:func:`plain_or_digest`).

        The partition for networks that projects share holds only a guard; its objects are in :meth:`folder_name`.
        No tenant's partition has its name, because digests have 40 digits after the ``-``.
        """
        if project_id == COMMON_PROJECT:
            return f"{self.prefix}_-common"
        return f"{self.prefix}_{plain_or_digest(project_id)}"

    def folder_name(self, project_id: ProjectId) -> str:
        """Return the name of the partition with the project's objects: /Common for objects that projects share."""
        return COMMON if project_id == COMMON_PROJECT else self.partition_name(project_id)

    def project_of(self, partition: str) -> ProjectId | None:
        """Return the project whose partition has this name; None if the name does not have this prefix, or
        has a digest instead of the project id.
        """
        prefix, _, tail = partition.rpartition("_")
        return ProjectId(tail) if prefix == self.prefix and _PLAIN_PATTERN.fullmatch(tail) else None

    def traffic_group(self, project_id: ProjectId) -> str:
        """Return the traffic group of the tenant's virtual addresses, chosen among the configured ones by the
        project id; empty if none is configured: then the traffic group of the partition applies.
        """
        return traffic_group_of(project_id, self.traffic_groups)

    def object_name(self, object_id: str) -> str:
        """Return the name of the object that implements ``object_id``."""
        return f"{self.prefix}_{plain_or_digest(object_id)}"

    def auxiliary_object_name(self, kind: str, object_id: str) -> str:
        """Return the name of an auxiliary object, such as a listener's profile."""
        return f"{self.prefix}_{kind}_{plain_or_digest(object_id)}"

    def node_name(self, address: str) -> str:
        """Return the name, in /Common, of the node for an address in the common route domain.

        The name has no colon, because a device would take it for an address; and it is not the bare address, which is
        the name that a device gives the node of an operator's member.
        """
        return f"{self.prefix}_{address.replace(':', '-')}"

    def file_name(self, sha256: str, suffix: str) -> str:
        """Return the name of a file whose content has this SHA-256. ``suffix``: one of the module's suffixes,
        such as ``.crt``.
        """
        return f"{self.prefix}_{sha256}{suffix}"

    def is_file(self, name: str) -> bool:
        """Whether the name has the form of Even Keel's files. No other program uses such names in a partition
        with Even Keel's guard.
        """
        return name.startswith(f"{self.prefix}_") and bool(_FILE_SUFFIX_PATTERN.fullmatch(name[len(self.prefix) + 1 :]))

    def marked_description(
        self, kind: str, load_balancer_id: LoadBalancerId = LoadBalancerId(""), object_id: str = ""
    ) -> str:
        """Return the description of an object of this device group, which contains its mark."""
        return Mark(
            environment=self.environment,
            group=self.group,
            kind=kind,
            load_balancer_id=load_balancer_id,
            object_id=object_id,
        ).text()

    @property
    def group_text(self) -> str:
        """Return environment and number of the device group, as messages name them."""
        return f"device group {self.environment}/{self.group}"

    @property
    def device_claim_name(self) -> str:
        """Return the name of the data group in /Common that records which device group owns the device."""
        return f"{DEVICE_CLAIM_PREFIX}_{self.environment}"

    @property
    def minimum_epoch_sentinel(self) -> str:
        """Return the name of the data group in /Common that exists since a minimum epoch was first recorded."""
        return f"{MINIMUM_EPOCH_PREFIX}_{self.environment}"

    def minimum_epoch_guard_name(self, guard: "Guard") -> str:
        """Return the name of the data group in /Common for the newest guard that was removed with its partition."""
        return f"{self.minimum_epoch_sentinel}{guard.name.removeprefix(GUARD_PREFIX)}"

    def parse_minimum_epoch_guard_name(self, name: str) -> "Guard | None":
        """Parse a name made by :meth:`minimum_epoch_guard_name` into the guard; None if the name has another form. The
        guard's epoch may be out of range.
        """
        start = f"{self.minimum_epoch_sentinel}_"
        return parse_guard(f"{GUARD_PREFIX}_{name.removeprefix(start)}") if name.startswith(start) else None

    def is_own_mark(self, mark: Mark | None) -> bool:
        """Whether the mark is this device group's; False without a mark."""
        return mark is not None and (mark.environment, mark.group) == (self.environment, self.group)

    def own_mark(self, description: object) -> Mark | None:
        """Return the mark in the description if it is this device group's; else, and without a mark, None."""
        mark = parse_mark(description)
        return mark if self.is_own_mark(mark) else None


class MarkedSubnet(NamedTuple):
    """Facts about a subnet, written into the mark of a self IP in the subnet so that every pass can read them
    from the device.
    """

    id: str
    gateway: str = ""
    """Address of the subnet's gateway; empty: it has none."""
    external: bool = False
    """Whether the gateway leads out of the cloud: the default route of the common route domain prefers such
    gateways.
    """

    def text(self) -> str:
        """Return the notation for the mark, without ``:``: ``<id>``, ``<id>@<gateway>`` or
        ``<id>@<gateway>@external``.
        """
        parts = [self.id, self.gateway.replace(":", "-"), _EXTERNAL_WORD if self.external else ""]
        return "@".join(parts[: 1 if not self.gateway else 3 if self.external else 2])


def parse_marked_subnet(text: str) -> MarkedSubnet:
    """Parse the text made by :meth:`MarkedSubnet.text`."""
    subnet_id, _, rest = text.partition("@")
    gateway, _, external = rest.partition("@")
    return MarkedSubnet(subnet_id, gateway.replace("-", ":"), external == _EXTERNAL_WORD)


def plain_or_digest(text: str) -> str:
    """Return ``text`` if it has at most 64 letters, digits, ``.`` and ``-``, a letter or digit first; else
    ``-`` and 40 hex digits of its SHA-256.

    Neither form contains ``_``, so the last ``_`` of a name ends the prefix; and no plain text begins with
    ``-``.
    """
    return text if _PLAIN_PATTERN.fullmatch(text) else f"-{_short_digest(text)}"


def _short_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:40]


class Guard(Value):
    """Guard of a partition, parsed from its name: the owner's epoch and session. ``session`` is a digest, 12
    hex digits.

    An empty ``session`` means that the guard was made without one: any owner of the same epoch may replace
    it.
    """

    epoch: int
    session: str = ""

    @property
    def name(self) -> str:
        """Return the name of the guard's data group."""
        return f"{GUARD_PREFIX}_{self.epoch}_{self.session}" if self.session else f"{GUARD_PREFIX}_{self.epoch}"


def build_guard(epoch: int, session_id: SessionId) -> Guard:
    """Build the guard of the owner with this epoch and session."""
    return Guard(epoch=epoch, session=_short_digest(session_id)[:12])


def parse_guard(name: str) -> Guard | None:
    """Parse the guard in a data group's name; None if the name is no guard's. The epoch may be out of range."""
    found = _GUARD_NAME_PATTERN.fullmatch(name)
    return Guard(epoch=int(found[1]), session=found[2] or "") if found else None


def uri_segment(partition: str, name: str) -> str:
    """Return the last part of an object's URI, ``~P~X``, with ``/`` as ``~`` and ``%`` encoded. ``name`` may
    be a full path, which replaces ``partition``.
    """
    path = name.replace("/", "~") if name.startswith("/") else f"~{partition}~{name}"
    return path.replace("%", "%25")


def is_in_common(name: str) -> bool:
    """Whether the name of a node or member is a path in /Common, not a name in the tenant's partition."""
    return name.startswith(f"/{COMMON}/")


def name_and_partition(name: str, partition: str) -> dict[str, str]:
    """Return ``{"name": …, "partition": …}`` for the body of a request that creates the object; a path in
    /Common is split.
    """
    if is_in_common(name):
        return {"name": name.removeprefix(f"/{COMMON}/"), "partition": COMMON}
    return {"name": name, "partition": partition}


def member_name(item: Mapping[str, Any]) -> str:
    """Return a member's name from a response or the body of a request: a full path for a member in /Common,
    else without the partition.
    """
    name = str(item.get("name"))
    return f"/{COMMON}/{name}" if item.get("partition") == COMMON else name


def endpoint(address: str, port: int | str) -> str:
    """Format a pool member's name or a monitor's destination: ``10.0.0.1:80``, ``2001:db8::1.80``, ``*:80``."""
    return f"{address}.{port}" if ":" in address else f"{address}:{port}"


@lru_cache(maxsize=65_536)
def canonical_address(text: str) -> str:
    """Return an IP address in canonical form, with its route domain if the text names one (``10.0.0.1%7``).
    Raises :class:`ValueError` for another text.
    """
    host, percent, domain = text.partition("%")
    if percent and not domain.isdigit():
        raise ValueError(f"{text!r}: a route domain is a number")
    return f"{ipaddress.ip_address(host)}{percent}{domain}"
