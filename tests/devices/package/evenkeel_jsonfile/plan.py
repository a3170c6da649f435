"""What a partition is to hold, from a batch and what it holds. Pure."""

import ipaddress
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from evenkeel.core.devices.capabilities import definition_problems
from evenkeel.core.devices.device import Applied, PartitionBatch
from evenkeel.core.devices.plans import PlannedOperation, attribute_changes
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel_jsonfile.capabilities import CAPABILITIES
from evenkeel_jsonfile.files import Partition

Objects = Mapping[str, Any]
"""By load balancer: its configuration, as JSON has it."""


def rendered(service: ServiceDefinition) -> dict[str, Any]:
    """The configuration: all but what only evenkeel counts."""
    bare = msgspec.structs.replace(service, revision=0, change_id="")
    return dict(msgspec.json.decode(msgspec.json.encode(bare)))


def planned(batch: PartitionBatch, held: Objects, taken: Mapping[str, str]) -> tuple[Objects, tuple[Applied, ...]]:
    """What the partition holds afterwards, and what became of each load balancer of the batch.

    ``taken``: address -> load balancer of another partition that has it.
    """
    objects = dict(held)
    outcomes = []
    for service in sorted(batch.services, key=lambda one: not one.deleted):  # what goes makes room
        problem = ""
        if service.deleted:
            objects.pop(service.load_balancer_id, None)
        elif not (problem := _problem(service, objects, taken)):
            objects[service.load_balancer_id] = rendered(service)
        outcomes.append(
            Applied(
                load_balancer_id=service.load_balancer_id,
                revision=service.revision,
                change_id=service.change_id,
                error=problem,
            )
        )
    if batch.removes_orphans:
        named = {service.load_balancer_id for service in batch.services}
        objects = {name: value for name, value in objects.items() if name in named}
    return objects, tuple(outcomes)


def taken_by(partitions: Mapping[str, Partition]) -> dict[str, str]:
    """Address -> load balancer that has it."""
    return {value["vip"]["address"]: name for one in partitions.values() for name, value in one.objects.items()}


def differences(held: Objects, wanted: Objects) -> tuple[PlannedOperation, ...]:
    """What operators are shown of the way from one to the other."""
    found = []
    for name in sorted(held.keys() | wanted.keys()):
        before, after = held.get(name, {}), wanted.get(name, {})
        changed = {key: value for key, value in after.items() if value != before.get(key)}
        if changed or not after:
            verb: Literal["create", "modify", "delete"] = (
                "modify" if before and after else "create" if after else "delete"
            )
            attributes = attribute_changes(changed, before)
            found.append(PlannedOperation(verb=verb, type="load balancer", name=name, attributes=attributes))
    return tuple(found)


def _problem(service: ServiceDefinition, objects: Objects, taken: Mapping[str, str]) -> str:
    """Why it cannot be; empty: it can."""
    if service.problem:
        return service.problem
    address = service.vip.address
    try:
        ipaddress.ip_address(address)
    except ValueError:
        return f"vip_address {address!r} is no IP address"
    here = {value["vip"]["address"]: name for name, value in objects.items()}
    holder = {**taken, **here}.get(address)
    if holder not in (None, service.load_balancer_id):
        return f"address {address} is held by {holder}"
    return next(iter(definition_problems(CAPABILITIES, service)), "")
