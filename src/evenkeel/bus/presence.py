"""Judges when a name is absent, for all transports: only a name that was seen present can be absent.

Right after a restart of the broker no name is present, although processes run. So each connection starts with
an empty history, and a name that was never seen present over it is not reported as absent.
"""

MAX_SIGHTINGS = 10_000
"""Maximum number of remembered names; above it the least recently probed are dropped."""


class PresenceHistory:
    """The names that were seen present over one connection."""

    def __init__(self) -> None:
        self._names: dict[str, None] = {}

    def evaluate(self, name: str, found: bool) -> bool | None:
        """Record the result of a probe, and return whether the name is present: True if ``found``, False if
        the name was seen present earlier over this connection, None (unknown) if it never was.
        """
        seen = name in self._names
        if found or seen:
            self._names.pop(name, None)
            self._names[name] = None  # the most recently probed come last
            if len(self._names) > MAX_SIGHTINGS:
                del self._names[next(iter(self._names))]
        # A name never seen over this connection may just not have come back after the broker's restart.
        return True if found else False if seen else None

    def forget(self) -> None:
        """Clear the history, because the connection was replaced."""
        self._names.clear()
