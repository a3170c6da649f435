"""Errors common to drivers of all device types, in addition to those of :mod:`evenkeel.core.errors`."""

from evenkeel.core.errors import DeviceUnavailable


class NoAnswer(DeviceUnavailable):
    """The device did not respond within the time allowed for a request; a retry would wait as long again."""


class NotSent(DeviceUnavailable):
    """No connection could be made: the request was certainly not carried out."""


class PartitionUnavailable(DeviceUnavailable):
    """The device failed for this partition only; it responds, and other partitions are not affected."""


class Unrenderable(Exception):
    """A setting that the device type cannot implement; the text names object, field and value for the tenant."""
