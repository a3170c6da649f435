"""Errors that drivers of all device types share, beside those of :mod:`evenkeel.core.errors`."""

from evenkeel.core.errors import DeviceUnavailable


class NoAnswer(DeviceUnavailable):
    """The device was silent for as long as one request may take; waiting for more of the same helps nobody."""


class NotSent(DeviceUnavailable):
    """No connection could be made: the request was certainly not carried out."""


class PartitionUnavailable(DeviceUnavailable):
    """The device could not do it for this partition. It is there, and the others have nothing to do with it."""


class Unrenderable(Exception):
    """What a device type cannot do as asked; the text names object, field and value for the tenant."""
