"""Errors of the daemon that more than one package raises or handles; :mod:`api.refusals` maps them to responses."""

from evenkeel.core.kit.errors import EvenKeelError


class PartitionUnknown(EvenKeelError):
    """No partition (a tenant's HAProxy with its load balancers) has the name ``name``."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no partition {name}")
        self.name = name


class InvalidChange(EvenKeelError):
    """The request as a whole is invalid; ``reason``, which is the text, says what is not allowed."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class HaproxyDown(EvenKeelError):
    """HAProxy does not run, does not answer in time, or gives an answer that cannot be used; the text gives
    the reason.
    """


class HaproxyRefused(EvenKeelError):
    """HAProxy refused its configuration. ``reason``: HAProxy's message, without paths and contents."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class PartitionFailed(EvenKeelError):
    """The daemon failed to apply a change or to create a partition; the text gives the cause. The partition's
    accepted load balancers are unchanged.
    """
