"""Errors of the daemon that more than one folder raises or handles; what a caller is told: :mod:`api.refusals`."""

from evenkeel.core.errors import EvenKeelError


class PartitionUnknown(EvenKeelError):
    """No partition of that name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no partition {name}")
        self.name = name


class InvalidChange(EvenKeelError):
    """The whole request is not understood; the text names field, value and what is allowed."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class HaproxyDown(EvenKeelError):
    """A HAProxy does not run, or does not answer in time."""


class HaproxyRefused(EvenKeelError):
    """HAProxy understood and said no. ``reason``: its own words, without paths and contents."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class PartitionFailed(EvenKeelError):
    """The daemon could not make it so; the partition holds what it held before. The text says what is the matter."""
