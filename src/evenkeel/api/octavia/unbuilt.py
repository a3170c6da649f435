"""Resources and actions that Octavia has and Even Keel has not built yet: each says so by name."""

from evenkeel.api.answers import Answer
from evenkeel.api.context import Call, Services
from evenkeel.api.features import UNBUILT_RESOURCES
from evenkeel.api.routing import Handler, Operation
from evenkeel.core.errors import Unsupported

ANY_METHOD = ("GET", "POST", "PUT", "DELETE")


def refusing(feature: str) -> Handler:
    """A handler that answers 501 naming the feature."""

    async def handle(services: Services, call: Call) -> Answer:
        raise Unsupported(f"Provider does not support a requested action: {feature} are not built yet.")

    return handle


def _operations(path: str, feature: str, methods: tuple[str, ...], *, hidden: bool) -> tuple[Operation, ...]:
    return tuple(
        Operation(
            method=method,
            path=path,
            handle=refusing(feature),
            summary=f"Not built yet: {feature}",
            unbuilt=True,
            hidden=hidden,
        )
        for method in methods
    )


LBAAS: tuple[Operation, ...] = (
    *(
        operation
        for name, feature in UNBUILT_RESOURCES.items()
        for operation in (
            *_operations(f"/{name}", feature, ANY_METHOD, hidden=False),
            *_operations(f"/{name}/{{id}}", feature, ANY_METHOD, hidden=True),
            *_operations(f"/{name}/{{id}}/{{below}}", feature, ANY_METHOD, hidden=True),
            *_operations(f"/{name}/{{id}}/{{below}}/{{below_id}}", feature, ANY_METHOD, hidden=True),
        )
    ),
    *_operations("/loadbalancers/{id}/failover", "load balancer failovers", ("PUT",), hidden=False),
    *_operations("/providers/{id}/flavor_capabilities", "flavors", ("GET",), hidden=False),
    *_operations("/providers/{id}/availability_zone_capabilities", "availability zones", ("GET",), hidden=False),
)

OCTAVIA: tuple[Operation, ...] = (
    *_operations("/amphorae", "amphorae", ("GET",), hidden=False),
    *_operations("/amphorae/{id}", "amphorae", ("GET", "DELETE"), hidden=True),
    *_operations("/amphorae/{id}/{below}", "amphorae", ("GET", "PUT"), hidden=True),
)
