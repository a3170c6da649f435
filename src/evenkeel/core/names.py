"""The rule for names of environments: they become names of queues and of devices' partitions, and parts of paths."""

import re

ENVIRONMENT_NAME_PATTERN = "[A-Za-z0-9][A-Za-z0-9_-]*"
MAX_ENVIRONMENT_NAME_CHARACTERS = 64
ENVIRONMENT_NAME_RULE = "1 to 64 letters, digits, - and _, beginning with a letter or a digit"

_ENVIRONMENT_NAME = re.compile(ENVIRONMENT_NAME_PATTERN)


def is_environment_name(name: str) -> bool:
    """May an environment be called so?"""
    return len(name) <= MAX_ENVIRONMENT_NAME_CHARACTERS and _ENVIRONMENT_NAME.fullmatch(name) is not None
