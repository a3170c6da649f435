"""Numbers with their nouns in human-readable texts."""


def count_with_noun(count: int, one: str, several: str = "") -> str:
    """Return a number with the singular or plural of its noun: ``1 agent is silent``, ``2 agents are silent``.

    ``several``: the plural; empty: ``one`` with an s.
    """
    return f"{count} {one if count == 1 else several or f'{one}s'}"
