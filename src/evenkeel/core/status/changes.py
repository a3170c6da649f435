"""Change ids: a database that lost commits assigns revision numbers a second time, and the change id
distinguishes the changes.

Each accepted change writes a random id, that of its API request, beside the revision it makes. An outcome
counts for the change it names: at the newest revision by its whole id; at an earlier one by what the row
stores of the changes since the applied revision, so that a load balancer that changes faster than its device
can be updated still makes progress. An outcome of an older change than the row stores cannot be distinguished
from one of another history and is ignored; the next outcome is of a newer one.
"""

from evenkeel.core.status.outcomes import Applied

EARLIER_CHARACTERS_MAX = 8_000
"""Size of the earlier changes that a row stores: about 500 changes that no device has confirmed."""
HEAD_CHARACTERS = 8
"""Leading characters of each change id that a row stores; 32 random bits."""


def is_change_in_history(outcome: Applied, *, revision: int, change_id: str, earlier_changes: str) -> bool:
    """Whether the outcome is of a change that the load balancer's row has, or had: at its newest ``revision``
    that of ``change_id``, at an earlier one an entry of ``earlier_changes``; False for a later revision. Of
    an outcome without a change id its revision alone counts.
    """
    # This database never assigned the revision, or lost the commit that did.
    if outcome.revision > revision:
        return False
    if not outcome.change_id:
        return True
    if outcome.revision == revision:
        return outcome.change_id == change_id
    return _history_entry_of_change(outcome) in earlier_changes.split(" ")


def contradicts_database(outcome: Applied, *, revision: int, change_id: str) -> bool:
    """Whether the outcome names a change that this database once accepted and has lost: a later revision than
    the row has, or the same revision with another change id. False for an outcome without a change id.
    """
    if not outcome.change_id:
        return False
    return outcome.revision > revision or (outcome.revision == revision and outcome.change_id != change_id)


def change_entries_since(earlier_changes: str, revision: int) -> str:
    """Return the entries of ``earlier_changes`` to keep when ``revision`` is confirmed: that of this revision
    and later ones, each followed by a space; truncated entries are dropped.
    """
    kept = [entry for entry in earlier_changes.split(" ") if _revision_of_history_entry(entry) >= revision]
    return "".join(f"{entry} " for entry in kept)


def _history_entry_of_change(outcome: Applied) -> str:
    return f"{outcome.revision}:{outcome.change_id[:HEAD_CHARACTERS]}"


def _revision_of_history_entry(entry: str) -> int:
    """Return the revision of an entry of earlier changes; -1 if the size limit has truncated the entry."""
    number, colon, _ = entry.partition(":")
    # -1 is below every revision, so that since() drops the entry.
    return int(number) if colon and number.isdigit() else -1
