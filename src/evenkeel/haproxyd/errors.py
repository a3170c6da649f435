"""Errors of the daemon that more than one package raises or handles; :mod:`api.refusals` maps them to responses."""

from evenkeel.core.kit.errors import EvenKeelError


class PartitionUnknown(EvenKeelError):
    """There is no partition (tenant's HAProxy with its load balancers) of that name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no partition {name}")
        self.name = name


class InvalidChange(EvenKeelError):
    """The request as a whole is invalid; the text names field, value and what is allowed."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class HaproxyDown(EvenKeelError):
    """A HAProxy does not run, or does not answer in time."""


class HaproxyRefused(EvenKeelError):
    """HAProxy refused its configuration. ``reason``: HAProxy's message, without paths and contents."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class PartitionFailed(EvenKeelError):
    """The daemon failed to apply the change; the partition is unchanged. The text gives the cause."""
