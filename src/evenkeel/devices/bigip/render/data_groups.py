"""Data groups, in which iRules look values up, so that no text of a tenant becomes code. Pure."""

from collections.abc import Iterable, Mapping
from urllib.parse import quote

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.objects import DATA_GROUP, Key, WantedObject

_UNQUOTED_CHARACTERS = "/:._-~"


def encode_record(text: str) -> str:
    """Percent-encode the text, so that no character is special in a record, wherever the record is stored or
    shown.
    """
    return quote(text, safe=_UNQUOTED_CHARACTERS)


def data_group_path(service: ServiceDefinition, kind: str, object_id: str, names: BigIpNames) -> str:
    """Return the full path of the group that :func:`data_group` builds, by which iRules name it."""
    return f"/{names.partition_name(service.project_id)}/{names.auxiliary_object_name(kind, object_id)}"


def data_group(
    service: ServiceDefinition,
    kind: str,
    object_id: str,
    records: Mapping[str, str],
    names: BigIpNames,
    *,
    type_: str = "string",
) -> WantedObject:
    """Build the data group of one listener or pool. ``kind`` is part of its name and mark; ``records``:
    ``{name: data}``, kept in order.
    """
    return WantedObject(
        key=Key(type=DATA_GROUP, name=names.auxiliary_object_name(kind, object_id)),
        owner=service.load_balancer_id,
        attributes={
            "type": type_,
            "records": [{"name": name, "data": data} for name, data in records.items()],
            "description": names.marked_description(kind, service.load_balancer_id, object_id),
        },
        immutables=frozenset({"type"}),
    )


def network_group(
    service: ServiceDefinition, kind: str, object_id: str, networks: Iterable[str], names: BigIpNames
) -> WantedObject:
    """Build a data group of networks, which the caller gives in canonical form and sorted."""
    return data_group(service, kind, object_id, dict.fromkeys(networks, ""), names, type_="ip")
