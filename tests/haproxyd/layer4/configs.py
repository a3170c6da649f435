"""Load balancers for datagrams, as a driver sends them."""

from typing import Any

from evenkeel.haproxyd import wire
from tests.haproxyd.layer4.lab import PORT, VIP, Member


def server(member: Member, **changes: Any) -> wire.BackendServer:
    values = {"name": member.name, "address": member.address, "port": member.port}
    return wire.BackendServer(**{**values, **changes})


def balancer(
    *servers: wire.BackendServer | Member,
    name: str = "lb1",
    revision: int = 1,
    vips: tuple[str, ...] = (VIP,),
    port: int = PORT,
    ping: wire.Ping | None = None,
    listener: dict[str, Any] | None = None,
    **balance: Any,
) -> wire.LoadBalancerConfig:
    """One UDP listener with one pool."""
    listed = {
        "name": f"{name}_f",
        "binds": tuple(wire.Bind(address=vip, port=port) for vip in vips),
        "backend": f"{name}_b",
        **(listener or {}),
    }
    pool = wire.Backend(
        name=f"{name}_b",
        lines=("mode tcp", "balance roundrobin", "option allbackups"),
        servers=tuple(one if isinstance(one, wire.BackendServer) else server(one) for one in servers),
        ping=ping,
        datagrams=wire.DatagramBalance(**balance),
    )
    return wire.LoadBalancerConfig(
        id=name, revision=revision, backends=(pool,), datagram_listeners=(wire.DatagramListener(**listed),)
    )
