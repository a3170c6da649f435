"""Whether clients may share connections with members (OneConnect). Pure."""

from evenkeel.core.devices.service import ServiceListener, ServicePool
from evenkeel.devices.bigip.render.handshake import forwards_server_name
from evenkeel.devices.bigip.render.l7.effective import Routing
from evenkeel.devices.bigip.render.persistence import chooses_member_per_connection
from evenkeel.devices.bigip.render.transport import sends_proxy_header


def shares_connections(routes: Routing) -> bool:
    """Whether requests of different clients may share a connection with a member (OneConnect), so that each
    request of a connection can choose its own pool.

    False if a pool needs connections of its own, or if L7 policies decide about TLS with members.
    """
    if any(connection_sharing_obstacle(routes.listener, pool) for pool in routes.named):
        return False
    return not (routes.uses_tls and routes.listener.l7policies)


def connection_sharing_obstacle(listener: ServiceListener, pool: ServicePool | None) -> str:
    """Return the reason why a connection with a member must serve one client connection only; empty if there is
    none.
    """
    if pool is None:
        return ""
    if forwards_server_name(listener, pool):
        return "members get the clients' server names (SNI)"
    if sends_proxy_header(pool):
        return f"members get the clients' addresses (pool protocol {pool.protocol})"
    if chooses_member_per_connection(pool):
        return f"the members are chosen by connection (lb_algorithm {pool.lb_algorithm})"
    return ""
