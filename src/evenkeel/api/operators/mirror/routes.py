"""Routes of the mirror, for the provider driver and agent of an Octavia."""

from msgspec import structs

from evenkeel.api.common.linking import single_object_type
from evenkeel.api.http.routing import Operation, Parameter, RouteMap
from evenkeel.api.http.style import OPERATORS
from evenkeel.api.operators.mirror import loadbalancers
from evenkeel.api.operators.query import operator_only
from evenkeel.api.policy.names import own_rule
from evenkeel.api.usecases.mirror_requests import MirrorPut

_READ, _WRITE = own_rule("mirror", "get"), own_rule("mirror", "put")
_PROVIDER = Parameter(name="provider", description="Of this environment; required")

_LOAD_BALANCERS = (
    Operation(
        method="PUT",
        path="/mirror/loadbalancers/{id}",
        handle=loadbalancers.put,
        summary="Make a load balancer equal to that of another system, or create it; writes nothing if it is equal",
        rule=_WRITE,
        body=MirrorPut,
        answer=single_object_type("loadbalancer", loadbalancers.PutView),
        errors=(409, 501),
    ),
    Operation(
        method="DELETE",
        path="/mirror/loadbalancers/{id}",
        handle=loadbalancers.delete,
        summary="Delete a mirrored load balancer with everything below it",
        rule=_WRITE,
        status=204,
        parameters=(
            _PROVIDER,
            Parameter(name="snapshot", description="Time of the other system's state, in seconds; required"),
        ),
        errors=(409,),
    ),
    Operation(
        method="POST",
        path="/mirror/statuses",
        handle=loadbalancers.statuses,
        summary="Show the statuses of mirrored load balancers and of everything below them",
        rule=_READ,
        body=loadbalancers.IdsBody,
        answer=loadbalancers.StatusList,
    ),
)

MIRROR_ROUTES = RouteMap(
    tag="Mirror",
    prefixes=("/evenkeel/v1",),
    operations=tuple(
        structs.replace(operation, handle=operator_only(operation.handle), errors=(403, *operation.errors))
        for operation in _LOAD_BALANCERS
    ),
    style=OPERATORS,
)
