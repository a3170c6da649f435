"""Request bodies that tests share."""

from typing import Any

SUBNET_ID = "5b0c8b3e-3b3d-4c53-9f2c-0d6a1f7f0a01"

MONITOR = {"type": "HTTP", "delay": 5, "timeout": 3, "max_retries": 2}
MEMBERS = [{"address": f"10.20.0.{number}", "protocol_port": 8080} for number in (1, 2, 3)]


def load_balancer(**attributes: Any) -> dict[str, Any]:
    """The body of a create."""
    return {"loadbalancer": {"name": "lb", "vip_subnet_id": SUBNET_ID, **attributes}}


def populated(**attributes: Any) -> dict[str, Any]:
    """The body of a create with a listener, pool, monitor and three members."""
    pool = {"protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN", "healthmonitor": MONITOR, "members": MEMBERS}
    listener = {"name": "web", "protocol": "HTTP", "protocol_port": 80, "default_pool": {"name": "p", **pool}}
    return load_balancer(listeners=[listener], **attributes)
