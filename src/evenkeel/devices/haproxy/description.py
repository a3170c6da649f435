"""Describes, for operators, the changes that a batch would make on one daemon. Pure.

Configuration is compared as the daemon holds it, frontend by frontend and backend by backend; weights and
states of servers also as HAProxy runs with them, because they can be changed manually at its socket. Contents
of files are compared by their digest and never shown.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from evenkeel.core.devices.plans import DevicePlan, PlannedOperation, attribute_changes
from evenkeel.devices.haproxy.render.load_balancer import RenderedConfig
from evenkeel.haproxyd import wire

PartAttributes = Mapping[tuple[str, str], Mapping[str, Any]]
"""``{(type, name): attributes}`` of the parts of a load balancer."""


def describe_changes(
    device: str,
    rendered: Iterable[RenderedConfig],
    held: Sequence[wire.LoadBalancerConfig],
    running: wire.PartitionStatus,
    *,
    complete: bool,
) -> DevicePlan:
    """Describe the changes that a batch would make on the device; load balancers that could not be rendered
    are the plan's problem.

    ``held``: the whole partition as the daemon holds it; ``running``: the state of its HAProxy; ``complete``:
    load balancers that the batch does not name are removed.
    """
    ready = tuple(rendered)
    before = {one.id: one for one in held}
    operations: list[PlannedOperation] = []
    for one in ready:
        if not one.problem:
            operations += _planned_operations(before.get(one.service.load_balancer_id), one.load_balancer, running)
    named = {str(one.service.load_balancer_id) for one in ready}
    for orphan in held if complete else ():
        if orphan.id not in named:
            operations += _planned_operations(orphan, None, running)
    problems = dict.fromkeys(one.problem for one in ready if one.problem)
    return DevicePlan(device=device, operations=tuple(operations), problem="; ".join(problems))


def _planned_operations(
    held: wire.LoadBalancerConfig | None, wanted: wire.LoadBalancerConfig | None, running: wire.PartitionStatus
) -> Iterator[PlannedOperation]:
    before, after = _parts_by_name(held), _parts_by_name(wanted)
    yield from (PlannedOperation(verb="delete", type=key[0], name=key[1]) for key in before if key not in after)
    seen = _running_servers(running) if held is not None else {}
    for key, attributes in after.items():
        if key not in before:
            given = {name: value for name, value in attributes.items() if value not in (None, "", (), [])}
            yield PlannedOperation(
                verb="create",
                type=key[0],
                name=key[1],
                attributes=attribute_changes(_attributes_without_name(given), {}),
            )
            continue
        present = {**before[key], **seen.get(key, {})}
        changed = {name: value for name, value in attributes.items() if value != present[name]}
        if changed:
            shown = attribute_changes(_attributes_without_name(changed), _attributes_without_name(present))
            yield PlannedOperation(verb="modify", type=key[0], name=key[1], attributes=shown)


def _parts_by_name(config: wire.LoadBalancerConfig | None) -> PartAttributes:
    """Return frontends, backends, servers and files of a load balancer, each with all its attributes; empty
    without a configuration. Contents of files are replaced by their SHA-256.
    """
    if config is None:
        return {}
    parts: dict[tuple[str, str], Mapping[str, Any]] = {}
    for frontend in config.frontends:
        parts["frontend", frontend.name] = _struct_attributes(frontend)
    for backend in config.backends:
        attributes = _struct_attributes(backend)
        del attributes["servers"]
        parts["backend", backend.name] = attributes
        for server in backend.servers:
            parts["server", f"{backend.name}/{server.name}"] = _struct_attributes(server)
    for file in config.files:
        identity = file.sha256 or hashlib.sha256(file.content.encode()).hexdigest()
        parts["file", file.name] = {"kind": file.kind, "sha256": identity}
    return parts


def _struct_attributes(value: msgspec.Struct) -> dict[str, Any]:
    return {name: msgspec.to_builtins(getattr(value, name)) for name in value.__struct_fields__}


def _running_servers(running: wire.PartitionStatus) -> PartAttributes:
    """Return, for each server of the partition, the weight and admin state with which HAProxy runs."""
    return {
        ("server", f"{backend.name}/{server.name}"): {"weight": server.weight, "admin_up": server.admin_up}
        for backend in running.backends
        for server in backend.servers
    }


def _attributes_without_name(attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the attributes without the name, which is shown beside them."""
    return {name: value for name, value in attributes.items() if name != "name"}
