"""Numbers with their nouns in texts for people."""


def counted(count: int, one: str, several: str = "") -> str:
    """Return the number with the singular or the plural: ``1 agent is silent``, ``2 agents are silent``. ``several``:
    ``one`` with an s, if it is empty.
    """
    return f"{count} {one if count == 1 else several or f'{one}s'}"
