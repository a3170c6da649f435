"""Resources and actions that Octavia has and Even Keel has not built yet: each says so by name."""

from evenkeel.api.answers import Answer
from evenkeel.api.context import Call, Services
from evenkeel.api.policy.names import octavia
from evenkeel.api.routing import Handler, Operation
from evenkeel.core.errors import Unsupported

_ACTIONS = {
    ("GET", 0): "get_all",
    ("GET", 1): "get_one",
    ("DELETE", 1): "delete",
}
"""By method, and whether the path ends in an id."""


def refusing(feature: str) -> Handler:
    """A handler that answers 501 naming the feature."""

    async def handle(services: Services, call: Call) -> Answer:
        raise Unsupported(f"Provider does not support a requested action: {feature} are not built yet.")

    return handle


def _rule(path: str, method: str) -> str:
    """The rule of a path's method, by what its segments are."""
    _, *rest = path.strip("/").split("/")
    if path.endswith("/failover"):
        return octavia("loadbalancer", "put_failover")
    action = {"GET": "get_stats", "PUT": "put_failover"}[method] if len(rest) == 2 else _ACTIONS[method, len(rest)]
    return octavia("amphora", action)


def _operations(path: str, feature: str, methods: tuple[str, ...], *, hidden: bool) -> tuple[Operation, ...]:
    return tuple(
        Operation(
            method=method,
            path=path,
            handle=refusing(feature),
            summary=f"Not built yet: {feature}",
            rule=_rule(path, method),
            unbuilt=True,
            hidden=hidden,
        )
        for method in methods
    )


LBAAS: tuple[Operation, ...] = _operations(
    "/loadbalancers/{id}/failover", "load balancer failovers", ("PUT",), hidden=False
)

OCTAVIA: tuple[Operation, ...] = (
    *_operations("/amphorae", "amphorae", ("GET",), hidden=False),
    *_operations("/amphorae/{id}", "amphorae", ("GET", "DELETE"), hidden=True),
    *_operations("/amphorae/{id}/{below}", "amphorae", ("GET", "PUT"), hidden=True),
)
