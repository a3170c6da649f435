"""Whose revision it is: a database that lost commits gives revision numbers again, and the change id tells which is
meant.

Each accepted change writes a random id beside the revision it makes. An outcome counts for the change it names: at the
newest revision by its whole id; at an earlier one by what the row remembers of the changes since the applied revision,
so that a load balancer which is changed faster than its device can be written still gets on. What is older than the row
remembers cannot be told from another history and proves nothing; the next outcome is of a newer one.
"""

from evenkeel.core.messages import Applied

EARLIER_CHARACTERS_MAX = 8_000
"""Of what a row remembers: some five hundred changes that no device has confirmed."""
HEAD_CHARACTERS = 8
"""Of each of them; 32 random bits."""


def is_known(outcome: Applied, *, revision: int, change_id: str, earlier_changes: str) -> bool:
    """The outcome is of the change that this row has, or had, at that revision.

    One without a change id is of an agent, or of a definition, of the version before: it counts by its revision.
    """
    if outcome.revision > revision:
        return False
    if not outcome.change_id:
        return True
    if outcome.revision == revision:
        return outcome.change_id == change_id
    return _entry(outcome) in earlier_changes.split(" ")


def contradicts(outcome: Applied, *, revision: int, change_id: str) -> bool:
    """The outcome is of a change that this database accepted once and does not know any more: it lost commits."""
    if not outcome.change_id:
        return False
    return outcome.revision > revision or (outcome.revision == revision and outcome.change_id != change_id)


def since(earlier_changes: str, revision: int) -> str:
    """What is still to be remembered when ``revision`` is confirmed: it and what came after it."""
    kept = [entry for entry in earlier_changes.split(" ") if _revision(entry) >= revision]
    return "".join(f"{entry} " for entry in kept)


def _entry(outcome: Applied) -> str:
    return f"{outcome.revision}:{outcome.change_id[:HEAD_CHARACTERS]}"


def _revision(entry: str) -> int:
    """-1 for what the limit has cut."""
    number, colon, _ = entry.partition(":")
    return int(number) if colon and number.isdigit() else -1
