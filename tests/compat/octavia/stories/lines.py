"""Lines of a story, in few words."""

from collections.abc import Iterable
from typing import Any

from tests.compat.table import Line

LBAAS = "/v2/lbaas"


def get(path: str, **options: Any) -> Line:
    """A GET below ``/v2/lbaas``, or of a whole path."""
    return _line("GET", path, None, options)


def post(path: str, body: Any, **options: Any) -> Line:
    """A POST."""
    return _line("POST", path, body, options)


def put(path: str, body: Any, **options: Any) -> Line:
    """A PUT."""
    return _line("PUT", path, body, options)


def delete(path: str, **options: Any) -> Line:
    """A DELETE."""
    return _line("DELETE", path, None, options)


def call(method: str, path: str, body: Any = None, **options: Any) -> Line:
    """Any other method."""
    return _line(method, path, body, options)


def _line(method: str, path: str, body: Any, options: dict[str, Any]) -> Line:
    whole = path if path.startswith("/v") or path == "/" else LBAAS + path
    return Line(story="", method=method, path=whole, body=body, **options)


# -- the usual objects


def load_balancer(save: str = "lb", **attributes: Any) -> Line:
    """A new load balancer."""
    return post("/loadbalancers", {"loadbalancer": {"vip_subnet_id": "{subnet}", **attributes}}, save=save)


def listener(save: str = "listener", **attributes: Any) -> Line:
    """A new listener of ``{lb}``."""
    body = {"loadbalancer_id": "{lb}", "protocol": "HTTP", "protocol_port": 80, **attributes}
    return post("/listeners", {"listener": body}, save=save)


def pool(save: str = "pool", **attributes: Any) -> Line:
    """A new pool of ``{lb}``."""
    body = {"loadbalancer_id": "{lb}", "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN", **attributes}
    return post("/pools", {"pool": body}, save=save)


def member(save: str = "member", **attributes: Any) -> Line:
    """A new member of ``{pool}``."""
    body = {"address": "192.0.2.10", "protocol_port": 8080, **attributes}
    return post("/pools/{pool}/members", {"member": body}, save=save)


def monitor(save: str = "monitor", **attributes: Any) -> Line:
    """A new health monitor of ``{pool}``."""
    body = {"pool_id": "{pool}", "type": "HTTP", "delay": 10, "timeout": 5, "max_retries": 3, **attributes}
    return post("/healthmonitors", {"healthmonitor": body}, save=save)


def policy(save: str = "policy", **attributes: Any) -> Line:
    """A new L7 policy of ``{listener}``."""
    return post("/l7policies", {"l7policy": {"listener_id": "{listener}", "action": "REJECT", **attributes}}, save=save)


def rule(save: str = "rule", **attributes: Any) -> Line:
    """A new L7 rule of ``{policy}``."""
    body = {"type": "PATH", "compare_type": "STARTS_WITH", "value": "/private", **attributes}
    return post("/l7policies/{policy}/rules", {"rule": body}, save=save)


WORLD = (load_balancer(), pool(), listener(default_pool_id="{pool}"), member(), monitor(), policy(), rule())
"""One of each."""


def changes(path: str, key: str, bodies: Iterable[dict[str, Any]]) -> list[Line]:
    """PUTs of one object, each with its state afterwards only in the answer."""
    return [put(path, {key: body}) for body in bodies]
