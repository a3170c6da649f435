"""What the API needs of the controller: one place to say "this was accepted"."""

from typing import Protocol

from evenkeel.core.control import Change


class ChangeSink(Protocol):
    """Told of every accepted write, after it was committed.

    What it does (placing, hinting an agent) may be lost: the database is the truth, and sweeps find what nobody was
    told of. So it must not raise for a neighbour's sake; if it does all the same, the request still succeeds.
    """

    async def accepted(self, change: Change) -> None:
        """Place or hint."""
        ...

    async def failed_over(self, change: Change) -> None:
        """Have another agent serve it, if there is one; else hint."""
        ...
