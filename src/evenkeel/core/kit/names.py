"""Names: the rule for names of environments, which become parts of queue and partition names and of paths;
the default id of an agent; and texts that name objects.
"""

import re
import uuid

ENVIRONMENT_NAME_PATTERN = "[A-Za-z0-9][A-Za-z0-9_-]*"
MAX_ENVIRONMENT_NAME_CHARACTERS = 64
ENVIRONMENT_NAME_RULE = "1 to 64 letters, digits, - and _, beginning with a letter or a digit"

_AGENT_IDS = uuid.UUID("6c0f2a5e-5d5b-4f0e-9a57-0e0b5a9d7c11")
_ENVIRONMENT_NAME = re.compile(ENVIRONMENT_NAME_PATTERN)


def is_environment_name(name: str) -> bool:
    """Whether the name is allowed for an environment: 1 to 64 letters, digits, ``-`` and ``_``, beginning
    with a letter or digit.
    """
    return len(name) <= MAX_ENVIRONMENT_NAME_CHARACTERS and _ENVIRONMENT_NAME.fullmatch(name) is not None


def default_agent_id(environment: str, group_number: int, host: str) -> str:
    """Return the default id of an agent: the same after every restart, and unique to environment, group and host."""
    return str(uuid.uuid5(_AGENT_IDS, f"{environment}/{group_number}/{host}"))


def name_and_id(name: str, id_: str) -> str:
    """Return the text that names an object: the name before the id; the id alone if there is no other name."""
    return f"{name} ({id_})" if name and name != id_ else id_
