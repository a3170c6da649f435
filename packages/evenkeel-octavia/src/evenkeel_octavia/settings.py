"""Frozen settings of driver and agent, made from the options in ``[evenkeel]`` of ``octavia.conf``."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol


class MisconfiguredError(Exception):
    """An option of ``[evenkeel]`` has a value that can't work; the text names option, value and what is allowed."""


class Credential(Protocol):
    """Source of the HTTP headers that authenticate requests at the controllers. Thread-safe."""

    def headers(self) -> Mapping[str, str]:
        """Return the headers of a request; may block for a login at Keystone."""
        ...

    def renew(self) -> bool:
        """Discard a cached login after a 401; False if a new attempt can't help."""
        ...


class NoCredential:
    """Credential of controllers without authentication, which answer on loopback only."""

    def headers(self) -> Mapping[str, str]:
        return {}

    def renew(self) -> bool:
        return False


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """Controllers and how requests are sent to them."""

    urls: tuple[str, ...]
    """Root URLs, ``https://host:port`` or ``http://host:port``, without a trailing slash."""
    ca_file: Path | None = None
    """CA certificates (PEM) that sign the controllers' certificates; None: those of the system."""
    credential: Callable[[], Credential] = field(default=NoCredential, compare=False)
    """Makes the credential. Called in the process that sends requests, never before a fork."""


@dataclass(frozen=True, kw_only=True)
class AgentSettings:
    """Times and limits of the provider agent. Times in seconds."""

    environments: Mapping[str, str]
    """Environment by the provider's name in Octavia."""
    poll_seconds: float = 0.25
    """Pause between two looks at Octavia's database while there is no work."""
    request_seconds: float = 20.0
    """Time-out of one request of the agent at the controllers."""
    drift_seconds: float = 60.0
    """Pause between the beginnings of two comparisons of all load balancers."""
    statuses_seconds: float = 1.0
    """Pause between two requests for changed operating statuses; 0: operating statuses are never reported."""
    statistics_seconds: float = 60.0
    """Pause between two reports of listeners' statistics; 0: none."""
    lease_seconds: float = 5.0
    """Life of the lease that makes this agent the only active one."""
    puts_at_once: int = 4
    """Load balancers that are written to the controllers at the same time."""
    makes_vip_ports: bool = False
    """Whether the controllers create VIP ports, so that those of creates that Octavia rolled back are given back."""
