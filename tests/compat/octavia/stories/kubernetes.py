"""What Kubernetes' controllers send for a Service of type LoadBalancer, and for an Ingress.

Sources: cloud-provider-openstack's openstack-cloud-controller-manager (``pkg/openstack/loadbalancer.go``; one-call
creates since 1.24, one call after the other for a load balancer that exists) and its octavia-ingress-controller
(``pkg/ingress/controller/openstack/octavia.go``). Magnum's clusters and Gardener's run the first of these unchanged.
"""

from typing import Any

from tests.compat.octavia.stories.lines import delete, get, listener, load_balancer, monitor, policy, pool, put, rule
from tests.compat.table import Line

SERVICE = "kube_service_kubernetes_default_web"
PORTS = ((80, 31080), (443, 31443))
NODES = ("192.0.2.11", "192.0.2.12", "192.0.2.13")
LOCAL_HEALTH_PORT = 32000
"""Port of a node's health check, if the Service's ``externalTrafficPolicy`` is ``Local``."""


def service_members(node_port: int, nodes: tuple[str, ...] = NODES, **attributes: Any) -> list[dict[str, Any]]:
    """A pool's members: one a node."""
    return [
        {
            "address": address,
            "protocol_port": node_port,
            "name": f"node-{address}",
            "subnet_id": "{subnet}",
            **attributes,
        }
        for address in nodes
    ]


def _listener(port: int, **attributes: Any) -> dict[str, Any]:
    return {
        "protocol": "TCP",
        "protocol_port": port,
        "connection_limit": -1,
        "timeout_client_data": 50000,
        "timeout_member_connect": 5000,
        "timeout_member_data": 50000,
        "timeout_tcp_inspect": 0,
        "allowed_cidrs": ["0.0.0.0/0"],
        "tags": [SERVICE],
        **attributes,
    }


def _monitor(**attributes: Any) -> dict[str, Any]:
    return {"type": "TCP", "delay": 5, "timeout": 3, "max_retries": 1, "max_retries_down": 3, **attributes}


def _pool(port: int, node_port: int, **attributes: Any) -> dict[str, Any]:
    return {
        "name": f"TCP_{port}_pool",
        "protocol": "TCP",
        "lb_algorithm": "ROUND_ROBIN",
        "members": service_members(node_port),
        "healthmonitor": _monitor(),
        **attributes,
    }


def service(listeners: list[dict[str, Any]], **attributes: Any) -> dict[str, Any]:
    """Attributes of a Service's load balancer."""
    return {
        "name": SERVICE,
        "description": "Kubernetes external service default/web from cluster kubernetes",
        "provider": "noop",
        "tags": [SERVICE],
        "listeners": listeners,
        **attributes,
    }


def _created() -> list[Line]:
    # one port: Octavia sorts what was made in the same second by its random ids
    port, node_port = PORTS[0]
    whole = [_listener(port, default_pool=_pool(port, node_port))]
    return [
        get("/"),
        get(f"/loadbalancers?name={SERVICE}"),
        load_balancer(**service(whole)),
        get("/loadbalancers/{lb}"),
        get("/listeners?loadbalancer_id={lb}"),
        get("/pools?loadbalancer_id={lb}"),
        get(f"/loadbalancers?name={SERVICE}"),
        get(f"/loadbalancers?tags={SERVICE}"),
        delete("/loadbalancers/{lb}?cascade=true"),
        get("/loadbalancers/{lb}"),
    ]


def _variants() -> list[Line]:
    port, node_port = PORTS[0]
    local = _pool(
        port,
        node_port,
        members=service_members(node_port, monitor_port=LOCAL_HEALTH_PORT),
        healthmonitor=_monitor(type="HTTP", url_path="/healthz", http_method="GET", expected_codes="200"),
    )
    pools: list[dict[str, Any]] = [
        local,
        _pool(port, node_port, session_persistence={"type": "SOURCE_IP"}),
        _pool(port, node_port, protocol="PROXY"),
    ]
    listeners = [_listener(port, default_pool=each) for each in pools]
    forwarded = _pool(port, node_port, protocol="HTTP", name="HTTP_80_pool")
    datagrams = _pool(port, node_port, protocol="UDP", name="UDP_80_pool", healthmonitor=_monitor(type="UDP-CONNECT"))
    listeners += [
        _listener(port, protocol="HTTP", insert_headers={"X-Forwarded-For": "true"}, default_pool=forwarded),
        _listener(port, protocol="UDP", default_pool=datagrams),
        _listener(port, allowed_cidrs=["198.51.100.0/24", "203.0.113.0/24"], connection_limit=10),
    ]
    internal = service([_listener(port, default_pool=_pool(port, node_port))], vip_address="198.51.0.77")
    return [*(load_balancer(**service([each])) for each in listeners), load_balancer(**internal)]


def _each_in_turn() -> list[Line]:
    """As of a load balancer that exists: several Services share one."""
    lines = [load_balancer(name="shared"), put("/loadbalancers/{lb}", {"loadbalancer": {"tags": [SERVICE]}})]
    for index, (port, node_port) in enumerate(PORTS):
        lines += [
            listener(**_listener(port, name=f"listener_{index}_{SERVICE}")),
            get("/loadbalancers/{lb}"),
            get("/pools?loadbalancer_id={lb}"),
            pool(loadbalancer_id=None, listener_id="{listener}", protocol="TCP", name=f"pool_{index}_{SERVICE}"),
            get("/pools/{pool}/members"),
            put("/pools/{pool}/members", {"members": service_members(node_port)}),
            monitor(**_monitor(), name=f"monitor_{index}_{SERVICE}"),
        ]
    return lines


def _nodes_come_and_go() -> list[Line]:
    _, node_port = PORTS[0]
    batches = [service_members(node_port, nodes) for nodes in (NODES, (*NODES, "192.0.2.14"), NODES[1:], NODES[1:])]
    one = NODES[1:2]
    batches += [
        service_members(node_port, one),
        service_members(node_port, one, monitor_port=LOCAL_HEALTH_PORT),
        service_members(node_port, one),
    ]
    lines = [load_balancer(), pool(protocol="TCP"), listener(**_listener(80), default_pool_id="{pool}")]
    for members in batches:
        lines += [
            get("/loadbalancers/{lb}"),
            get("/listeners?loadbalancer_id={lb}"),
            get("/pools?loadbalancer_id={lb}"),
            put("/pools/{pool}/members", {"members": members}),
        ]
        if len(members) == 1:
            # of several that were made in the same second, Octavia's order is random
            lines.append(get("/pools/{pool}/members"))
    return lines


def _changes() -> list[Line]:
    changes: list[dict[str, Any]] = [
        {"allowed_cidrs": ["198.51.100.0/24"]},
        {"connection_limit": 100},
        {"timeout_client_data": 1000, "timeout_member_data": 2000},
        {"timeout_member_connect": 3000, "timeout_tcp_inspect": 10},
        {"tags": [SERVICE, "kube_service_kubernetes_default_other"]},
        {"insert_headers": {"X-Forwarded-For": "true"}},
        {"insert_headers": {}},
    ]
    return [
        load_balancer(**service([])),
        listener(**_listener(80, protocol="HTTP")),
        *(put("/listeners/{listener}", {"listener": each}) for each in changes),
        pool(loadbalancer_id=None, listener_id="{listener}"),
        monitor(**_monitor(type="TCP")),
        put("/healthmonitors/{monitor}", {"healthmonitor": {"delay": 10, "timeout": 5, "max_retries": 2}}),
        get("/healthmonitors/{monitor}"),
        delete("/healthmonitors/{monitor}"),
        delete("/pools/{pool}"),
        delete("/listeners/{listener}"),
        put("/loadbalancers/{lb}", {"loadbalancer": {"tags": []}}),
        delete("/loadbalancers/{lb}?cascade=true"),
    ]


def _ingress() -> list[Line]:
    name = "kube_ingress_kubernetes_default_shop"
    members = [{"address": address, "protocol_port": 31080} for address in NODES]
    return [
        get(f"/loadbalancers?name={name}"),
        load_balancer(name=name, description="Created by Kubernetes", provider="noop"),
        get(f"/listeners?loadbalancer_id={{lb}}&name={name}"),
        listener(name=name),
        get(f"/pools?loadbalancer_id={{lb}}&name={name}"),
        pool(name=name),
        put("/pools/{pool}/members", {"members": members}),
        get(f"/l7policies?listener_id={{listener}}&name={name}&redirect_pool_id={{pool}}"),
        policy(
            name=name,
            action="REDIRECT_TO_POOL",
            description="Created by kubernetes ingress",
            redirect_pool_id="{pool}",
        ),
        rule(type="HOST_NAME", compare_type="EQUAL_TO", value="shop.example.com"),
        rule(type="PATH", compare_type="STARTS_WITH", value="/cart"),
        get(f"/l7policies?listener_id={{listener}}&name={name}&redirect_pool_id={{pool}}"),
        get("/l7policies?listener_id={listener}"),
        get("/l7policies/{policy}/rules"),
        delete("/l7policies/{policy}"),
        delete("/pools/{pool}"),
        delete("/loadbalancers/{lb}?cascade=true"),
    ]


STORIES = {
    "a Kubernetes Service made": _created(),
    "kinds of Kubernetes Services": _variants(),
    "a Kubernetes Service in a load balancer that exists": _each_in_turn(),
    "nodes of a Kubernetes Service come and go": _nodes_come_and_go(),
    "a Kubernetes Service changed": _changes(),
    "a Kubernetes Ingress": _ingress(),
}
