"""Definitions with the ids of Neutron, by which names of the agent are told from others."""

import re
import uuid
from typing import Any

import msgspec

from evenkeel.core.devices.service import ServiceDefinition

_SHORT = re.compile(r"(lb|listener|pool|monitor|member|policy|rule|net|sub)-[\w-]*\d")
_SPACE = uuid.UUID("5e1f0000-0000-4000-8000-000000000000")


def uuid_of(short: str) -> str:
    """The UUID that stands for a short id of the tests, such as ``lb-1``."""
    return str(uuid.uuid5(_SPACE, short))


def with_uuids(definition: ServiceDefinition) -> ServiceDefinition:
    """The definition, each of whose short ids is a UUID."""
    return msgspec.convert(_renamed(msgspec.to_builtins(definition)), ServiceDefinition)


def _renamed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _renamed(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_renamed(each) for each in value]
    return uuid_of(value) if isinstance(value, str) and _SHORT.fullmatch(value) else value
