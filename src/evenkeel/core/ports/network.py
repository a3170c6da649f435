"""The network port: where VIPs come from."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, Protocol

from evenkeel.core.control import VipPlan
from evenkeel.core.ids import LoadBalancerId, ProjectId
from evenkeel.core.network import NO_OPTIONS, PortOptions, Segment, VipClaim, VipPort, WantedVip

LookUp = Literal["subnets", "networks", "ports", "policies", "security_groups"]
"""What clients look up by name or id; ``policies`` are those of QoS."""


class Network(Protocol):
    """Where VIPs come from, and what the devices need to know of networks."""

    @property
    def has_ports(self) -> bool:
        """VIPs have ports outside the database, which follow when their load balancers change."""
        ...

    async def plan_vip(
        self,
        *,
        project_id: ProjectId,
        load_balancer_id: LoadBalancerId,
        subnet_id: str | None,
        network_id: str | None,
        port_id: str | None,
        address: str | None,
        marked: VipPort | None = None,
        additional: Sequence[WantedVip] = (),
        options: PortOptions = NO_OPTIONS,
        any_address: bool = False,
    ) -> VipPlan:
        """How the VIP is to be taken. ``marked``: what a port made for it says; None: what Octavia's say.
        ``additional``: more addresses for the same port, of other subnets of the same network. ``any_address``: an
        operator asks, who may have an address outside the subnet's allocation range, where that is ours to say.

        Raises :class:`Invalid` or :class:`NotFound` naming the field, :class:`Conflict` for an address in use,
        :class:`NetworkUnavailable`. Whatever it raises, nothing stays taken.
        """
        ...

    async def abandon_vip(self, plan: VipPlan) -> None:
        """The load balancer was not stored: have what :meth:`plan_vip` took given back soon. Never raises; without
        this it is given back later."""
        ...

    async def release_vip(self, claim: VipClaim) -> bool:
        """Give back what :meth:`plan_vip` took outside the database; was there anything? Repeating it is harmless.

        Raises :class:`NetworkUnavailable`; :class:`Conflict` if this one is refused."""
        ...

    async def check_options(self, project_id: ProjectId, options: PortOptions) -> None:
        """May a port of the project have these? Raises :class:`Invalid` or :class:`NotFound` naming what it may not,
        :class:`NetworkUnavailable`."""
        ...

    async def set_options(self, port_id: str, read: Callable[[], Awaitable[PortOptions | None]]) -> None:
        """Give the port what ``read`` says; nothing if that is None or the port is gone. A change to the port that
        came in between is never undone: then ``read`` is asked again.

        Raises :class:`NetworkUnavailable`; :class:`Conflict` if they are refused."""
        ...

    async def segment(self, network_id: str, subnet_id: str) -> Segment:
        """What devices need to know to be attached. Raises :class:`NotFound`, :class:`NetworkUnavailable`."""
        ...

    async def look_up(
        self, kind: LookUp, filters: Mapping[str, str], *, project_id: ProjectId | None
    ) -> tuple[Mapping[str, Any], ...]:
        """What there is of a kind that the project may use (None: of every project), as Neutron's API shows it.

        ``filters``: values of ``id``, ``name``, ``network_id``. Raises :class:`NetworkUnavailable`."""
        ...
