"""Statuses and modes. The values are Octavia's wherever Octavia has them."""

from enum import StrEnum


class ProvisioningStatus(StrEnum):
    """State of the tenant's request on the device (Octavia API reference, "Provisioning Status Codes")."""

    ACTIVE = "ACTIVE"  # the device confirmed the newest revision
    PENDING_CREATE = "PENDING_CREATE"  # accepted, not confirmed yet
    PENDING_UPDATE = "PENDING_UPDATE"  # confirmed before, a newer revision is pending
    PENDING_DELETE = "PENDING_DELETE"  # to be removed; the row goes when the device confirmed
    ERROR = "ERROR"  # refused by the device or overdue; still retried until it heals


class OperatingStatus(StrEnum):
    """State of an object's traffic (Octavia API reference, "Operating Status Codes")."""

    ONLINE = "ONLINE"  # works
    OFFLINE = "OFFLINE"  # administratively down, or not yet known
    DEGRADED = "DEGRADED"  # some of its children do not work
    ERROR = "ERROR"  # does not work
    DRAINING = "DRAINING"  # member takes no new connections (weight 0)
    NO_MONITOR = "NO_MONITOR"  # member whose pool has no health monitor


class HaType(StrEnum):
    """Number of devices that hold the configuration of one device group (F5's ``f5_ha_type``)."""

    STANDALONE = "standalone"  # exactly one that agents reach
    PAIR = "pair"  # two: one active, one standby
    SCALEN = "scalen"  # two to four in one device service cluster


class RescheduleMode(StrEnum):
    """How a device driver's load balancers may move to another agent."""

    CONTROL = "control"  # device reached over the network: any agent of the group may take over at once
    RELOCATE = "relocate"  # rebuilt elsewhere, only when the host itself is declared dead
    NEVER = "never"  # bound to its host: changes wait until the agent is back


class FailbackMode(StrEnum):
    """Handling of an agent's home shards when the agent is back."""

    AUTO = "auto"  # handed back when it has been up for the settling time
    MANUAL = "manual"  # handed back when an operator asks for it
    NEVER = "never"  # they stay where they are


PENDING = frozenset(
    {ProvisioningStatus.PENDING_CREATE, ProvisioningStatus.PENDING_UPDATE, ProvisioningStatus.PENDING_DELETE}
)
