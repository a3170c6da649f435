"""Statuses and modes. The values are Octavia's wherever Octavia has them."""

from enum import StrEnum


class ProvisioningStatus(StrEnum):
    """State of the tenant's request on the device (Octavia API reference, "Provisioning Status Codes")."""

    ACTIVE = "ACTIVE"  # the device confirmed the newest revision
    PENDING_CREATE = "PENDING_CREATE"  # accepted, not confirmed yet
    PENDING_UPDATE = "PENDING_UPDATE"  # confirmed before, a newer revision is pending
    PENDING_DELETE = "PENDING_DELETE"  # to be removed; the row is deleted when the device has confirmed
    ERROR = "ERROR"  # refused by the device or overdue; retried until it succeeds


class OperatingStatus(StrEnum):
    """State of an object's traffic, as observed on the devices (Octavia API reference, "Operating Status
    Codes").
    """

    ONLINE = "ONLINE"  # works
    OFFLINE = "OFFLINE"  # administratively down, or not yet known
    DEGRADED = "DEGRADED"  # some of its children do not work
    ERROR = "ERROR"  # does not work
    DRAINING = "DRAINING"  # member takes no new connections (weight 0)
    NO_MONITOR = "NO_MONITOR"  # member whose pool has no health monitor


class HaType(StrEnum):
    """Number of devices that hold the configuration of one device group (F5's ``f5_ha_type``)."""

    STANDALONE = "standalone"  # exactly one device that agents reach
    PAIR = "pair"  # two devices: one active, one standby
    SCALEN = "scalen"  # two to four devices in one device service cluster


class RescheduleMode(StrEnum):
    """How load balancers of a device driver may move to another agent."""

    CONTROL = "control"  # any agent of the group reaches the devices over the network, and may take over immediately
    RELOCATE = "relocate"  # rebuilt on another host, only when the home host is declared dead
    NEVER = "never"  # bound to its host: changes wait until the agent is back


class FailbackMode(StrEnum):
    """Handling of an agent's home shards when the agent is back."""

    AUTO = "auto"  # handed back when the agent has been up for the settling time
    MANUAL = "manual"  # handed back when an operator requests it
    NEVER = "never"  # the shards stay with the agents that serve them


PENDING = frozenset(
    {ProvisioningStatus.PENDING_CREATE, ProvisioningStatus.PENDING_UPDATE, ProvisioningStatus.PENDING_DELETE}
)
