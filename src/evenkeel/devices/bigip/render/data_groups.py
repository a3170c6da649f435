"""Data groups: what iRules look up, so that no text of a tenant becomes code. Pure."""

from collections.abc import Mapping

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.objects import DATA_GROUP, Key, WantedObject


def data_group(
    service: ServiceDefinition,
    kind: str,
    object_id: str,
    records: Mapping[str, str],
    names: BigIpNames,
    *,
    type_: str = "string",
) -> WantedObject:
    """The data group of one listener or pool. ``kind`` is part of its name and mark; ``records``: data by name, in
    order.
    """
    return WantedObject(
        key=Key(type=DATA_GROUP, name=names.helper(kind, object_id)),
        owner=service.load_balancer_id,
        attributes={
            "type": type_,
            "records": [{"name": name, "data": data} for name, data in records.items()],
            "description": names.marked_description(kind, service.load_balancer_id, object_id),
        },
        immutables=frozenset({"type"}),
    )
