"""Errors that drivers of all device types raise, in addition to those of :mod:`evenkeel.core.kit.errors`."""

import structlog

from evenkeel.core.kit.errors import DeviceUnavailable
from evenkeel.core.kit.ids import LoadBalancerId

log = structlog.get_logger(__name__)


class NoAnswer(DeviceUnavailable):
    """The device did not respond, or accept a connection, within the time allowed; a retry would wait as long
    again.
    """


class RequestNotSent(DeviceUnavailable):
    """No connection could be established, or the device's certificate was refused: the request was certainly
    not carried out.
    """


class PartitionUnavailable(DeviceUnavailable):
    """The device failed for this partition only; the device responds, and other partitions are not affected."""


class Unrenderable(Exception):
    """A setting that the device type cannot implement; the text gives the reason for the tenant, and names
    the object if there is one.
    """


def render_problem(error: Exception, load_balancer_id: LoadBalancerId) -> str:
    """Return the reason, for the tenant, why this load balancer of a batch cannot be rendered.

    An error other than :class:`Unrenderable` is a defect of the driver: it is logged, and the tenant gets a short text.
    """
    if isinstance(error, Unrenderable):
        return str(error)
    log.error("not rendered because of an unexpected error", load_balancer=load_balancer_id, exc_info=error)
    return f"an unexpected error of the agent ({type(error).__name__}); its log has the details"
