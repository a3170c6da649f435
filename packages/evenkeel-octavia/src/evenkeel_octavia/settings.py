"""Frozen settings of driver and agent, made from the options in ``[evenkeel]`` of ``octavia.conf``."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol


class MisconfiguredError(Exception):
    """An option of ``[evenkeel]`` has an invalid value; the text names option, value and what is allowed."""


class Credential(Protocol):
    """Source of the HTTP headers that authenticate requests at the controllers. Thread-safe."""

    def headers(self) -> Mapping[str, str]:
        """Return the headers of a request; may block for a login at Keystone."""
        ...

    def renew(self) -> bool:
        """Discard a cached login after a 401; False if another attempt cannot help."""
        ...


class NoCredential:
    """Credential of controllers without authentication, which answer on loopback only."""

    def headers(self) -> Mapping[str, str]:
        return {}

    def renew(self) -> bool:
        return False


@dataclass(frozen=True, kw_only=True)
class ControllersEndpoint:
    """The controllers' URLs, and how requests to them are authenticated."""

    urls: tuple[str, ...]
    """Root URLs, ``https://host:port`` or ``http://host:port``, without a trailing slash."""
    ca_file: Path | None = None
    """CA certificates (PEM) to verify the controllers' certificates with; None: the system's."""
    credential: Callable[[], Credential] = field(default=NoCredential, compare=False)
    """Makes the credential. Called in the process that sends requests, never before a fork."""


@dataclass(frozen=True, kw_only=True)
class AgentSettings:
    """Intervals, time-outs and limits of the provider agent. Times in seconds."""

    environments: Mapping[str, str]
    """Environment by the name of the provider in Octavia."""
    poll_seconds: float = 0.25
    """Interval at which Octavia's database is read while there is no work."""
    request_seconds: float = 20.0
    """Time-out of one request of the agent at the controllers."""
    drift_seconds: float = 60.0
    """Interval at which all load balancers are compared."""
    statuses_seconds: float = 1.0
    """Interval at which changed operating statuses are requested; 0: operating statuses are never reported."""
    statistics_seconds: float = 60.0
    """Interval at which listeners' statistics are reported; 0: never."""
    lease_seconds: float = 5.0
    """Duration of the lease that makes this agent the only active one."""
    puts_at_once: int = 4
    """Maximum number of load balancers that are written to the controllers concurrently."""
    makes_vip_ports: bool = False
    """Whether the controllers create VIP ports; then the ports of creates that Octavia rolled back
    have to be deleted.
    """
