"""The rule for names of environments: they become names of queues and of devices' partitions, and parts of paths. And
what an agent is called that was given no name."""

import re
import uuid

ENVIRONMENT_NAME_PATTERN = "[A-Za-z0-9][A-Za-z0-9_-]*"
MAX_ENVIRONMENT_NAME_CHARACTERS = 64
ENVIRONMENT_NAME_RULE = "1 to 64 letters, digits, - and _, beginning with a letter or a digit"

_AGENT_IDS = uuid.UUID("6c0f2a5e-5d5b-4f0e-9a57-0e0b5a9d7c11")
_ENVIRONMENT_NAME = re.compile(ENVIRONMENT_NAME_PATTERN)


def is_environment_name(name: str) -> bool:
    """May an environment be called so?"""
    return len(name) <= MAX_ENVIRONMENT_NAME_CHARACTERS and _ENVIRONMENT_NAME.fullmatch(name) is not None


def derived_agent_id(environment: str, group_number: int, host: str) -> str:
    """The id of the agent at that place: the same after every restart, and no other place's."""
    return str(uuid.uuid5(_AGENT_IDS, f"{environment}/{group_number}/{host}"))
