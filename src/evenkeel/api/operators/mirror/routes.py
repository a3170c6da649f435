"""Routes of the mirror, for the provider driver and agent of an Octavia."""

from msgspec import structs

from evenkeel.api.common.linking import single_object_type
from evenkeel.api.http.routing import Operation, Parameter, RouteMap
from evenkeel.api.http.style import OPERATORS
from evenkeel.api.operators.mirror import checks, loadbalancers, vip_ports
from evenkeel.api.operators.query import operator_only
from evenkeel.api.policy.names import own_rule
from evenkeel.api.usecases.mirror_requests import MetadataCheck, MirrorCheck, MirrorLease, MirrorPut, VipPortNew
from evenkeel.core.control.mirrors import MirrorChanges, WriterLease

_READ, _WRITE = own_rule("mirror", "get"), own_rule("mirror", "put")
_PROVIDER = Parameter(name="provider", description="Of this environment; required")

TREE_BYTES_MAX = 8 << 20
"""Largest body with a whole load balancer: one with 10,000 members, the default limit, has 5 MiB."""

_LOAD_BALANCERS = (
    Operation(
        method="PUT",
        path="/mirror/loadbalancers/{id}",
        handle=loadbalancers.put_load_balancer,
        summary="Make a load balancer equal to that of another system, or create it; writes nothing if it is equal",
        rule=_WRITE,
        body=MirrorPut,
        body_bytes=TREE_BYTES_MAX,
        answer=single_object_type("loadbalancer", loadbalancers.PutView),
        errors=(409, 501),
    ),
    Operation(
        method="DELETE",
        path="/mirror/loadbalancers/{id}",
        handle=loadbalancers.delete_load_balancer,
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
        handle=loadbalancers.list_statuses,
        summary="Show the statuses of mirrored load balancers and of everything below them",
        audited=False,
        rule=_READ,
        body=loadbalancers.IdsBody,
        answer=loadbalancers.StatusList,
    ),
    Operation(
        method="POST",
        path="/mirror/statistics",
        handle=loadbalancers.list_statistics,
        summary="Show the totals of the listeners of mirrored load balancers",
        audited=False,
        rule=_READ,
        body=loadbalancers.IdsBody,
        answer=loadbalancers.StatisticsList,
    ),
    Operation(
        method="GET",
        path="/mirror/loadbalancers",
        handle=loadbalancers.list_load_balancers,
        summary="List mirrored load balancers in order of their ids, also those that devices still have to remove",
        rule=_READ,
        answer=loadbalancers.EntryPage,
        parameters=(
            _PROVIDER,
            Parameter(name="marker", description="Load balancers whose ids follow this one"),
            Parameter(name="limit", description="Page size; the cap is also the default", type=int),
        ),
    ),
    Operation(
        method="GET",
        path="/mirror/changes",
        handle=loadbalancers.list_changes,
        summary="List mirrored load balancers whose statuses, or those of anything below them, have changed",
        rule=_READ,
        answer=MirrorChanges,
        parameters=(_PROVIDER, Parameter(name="since", description="The cursor of an earlier answer")),
    ),
    Operation(
        method="PUT",
        path="/mirror/lease",
        handle=loadbalancers.take_lease,
        summary="Take, renew or give back the right to write a provider's load balancers",
        audited=False,
        rule=_WRITE,
        body=MirrorLease,
        answer=WriterLease,
    ),
)

_VIP_PORTS = (
    Operation(
        method="POST",
        path="/mirror/vip-ports",
        handle=vip_ports.create_vip_port,
        summary="Create the VIP port of a load balancer that the other system is about to store; a repetition finds it",
        rule=_WRITE,
        body=VipPortNew,
        answer=single_object_type("vip_port", vip_ports.VipPortView),
        errors=(409, 501),
    ),
    Operation(
        method="GET",
        path="/mirror/vip-ports",
        handle=vip_ports.list_unused_ports,
        summary="List load balancers whose VIP ports were created and that were not put since",
        audited=False,
        rule=_READ,
        answer=vip_ports.UnusedPorts,
        parameters=(
            _PROVIDER,
            Parameter(name="older", description="Only those that are so many seconds old"),
        ),
    ),
)

_CHECKS = (
    Operation(
        method="POST",
        path="/mirror/check",
        handle=checks.check_mirror_operation,
        summary="Check that a provider can serve an object; stores nothing",
        audited=False,
        rule=_READ,
        body=MirrorCheck,
        status=204,
        errors=(501,),
    ),
    Operation(
        method="POST",
        path="/mirror/check-flavor",
        handle=checks.check_flavor,
        summary="Check the metadata of a flavor",
        audited=False,
        rule=_READ,
        body=MetadataCheck,
        status=204,
        errors=(501,),
    ),
    Operation(
        method="POST",
        path="/mirror/check-availability-zone",
        handle=checks.check_zone,
        summary="Check the metadata of an availability zone",
        audited=False,
        rule=_READ,
        body=MetadataCheck,
        status=204,
        errors=(501,),
    ),
    Operation(
        method="GET",
        path="/mirror/flavor-metadata",
        handle=checks.flavor_metadata,
        summary="List what the metadata of a provider's flavors may contain; empty if anything is allowed",
        rule=_READ,
        answer=checks.MetadataList,
        parameters=(_PROVIDER,),
    ),
    Operation(
        method="GET",
        path="/mirror/availability-zone-metadata",
        handle=checks.zone_metadata,
        summary="List what the metadata of a provider's availability zones may contain",
        rule=_READ,
        answer=checks.MetadataList,
        parameters=(_PROVIDER,),
    ),
)

MIRROR_ROUTES = RouteMap(
    tag="Mirror",
    prefixes=("/evenkeel/v1",),
    operations=tuple(
        structs.replace(operation, handle=operator_only(operation.handle), errors=(403, *operation.errors))
        for operation in (*_LOAD_BALANCERS, *_VIP_PORTS, *_CHECKS)
    ),
    style=OPERATORS,
)
