"""VIP ports of load balancers that the other system is about to store."""

from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.operators.mirror.query import parse_older_seconds, parse_provider
from evenkeel.api.operators.query import query_options
from evenkeel.api.responses.answers import Answer, json_answer
from evenkeel.api.usecases.mirror_ports import make_vip_port
from evenkeel.api.usecases.mirror_requests import VipPortNew
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.kit.values import Value
from evenkeel.core.networking.vip_plans import VipPlan


class AllocatedVip(Value):
    """An additional VIP's subnet and address on the port."""

    subnet_id: str
    ip_address: str


class VipPortView(Value):
    """A VIP's port with network, subnet and address; an address is empty if it is not allocated yet."""

    port_id: str
    network_id: str
    subnet_id: str
    ip_address: str
    additional_vips: tuple[AllocatedVip, ...]
    """Additional VIPs, in the order of the request."""


class UnusedPorts(Value):
    """Load balancers whose port is not used yet, the longest unused first; at most 500."""

    ids: tuple[LoadBalancerId, ...]


async def create_vip_port(services: Services, call: Call, body: VipPortNew) -> Answer:
    """Handle POST /mirror/vip-ports: create the port of a VIP, or return that of an earlier request.
    Idempotent. Raises :class:`Invalid`, :class:`Conflict`, :class:`Unsupported` without a network service,
    :class:`NetworkUnavailable`, :class:`InvalidQuery` for unknown query parameters.
    """
    query_options(call, ())
    return json_answer({"vip_port": _vip_port_view(await make_vip_port(services, body))})


async def list_unused_ports(services: Services, call: Call) -> Answer:
    """Handle GET /mirror/vip-ports: list load balancers whose port is older than ``older`` seconds and not
    used yet. Raises :class:`InvalidQuery`.
    """
    options = query_options(call, ("provider", "older"))
    return json_answer(
        UnusedPorts(ids=await services.mirrors.find_unused_ports(parse_provider(options), parse_older_seconds(options)))
    )


def _vip_port_view(plan: VipPlan) -> VipPortView:
    more = [AllocatedVip(subnet_id=each.subnet_id, ip_address=each.address or "") for each in plan.additional]
    return VipPortView(
        port_id=plan.port_id,
        network_id=plan.network_id,
        subnet_id=plan.subnet_id,
        ip_address=plan.address or "",
        additional_vips=tuple(more),
    )
