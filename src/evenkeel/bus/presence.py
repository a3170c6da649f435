"""When a name counts as absent, the same for all transports: only a name that was seen present can be absent.

Right after a broker was restarted no name is present, and that says nothing about any process. So each connection
starts with an empty history, and a name that it never saw present is not reported as gone.
"""

MAX_SIGHTINGS = 10_000
"""Of more names, those not asked for the longest are forgotten."""


class PresenceHistory:
    """The names that were seen present over one connection."""

    def __init__(self) -> None:
        self._names: dict[str, None] = {}

    def judge(self, name: str, there: bool) -> bool | None:
        """The answer to "is it present?", given what was just found."""
        seen = name in self._names
        if there or seen:
            self._names.pop(name, None)
            self._names[name] = None  # the latest asked for stand last
            if len(self._names) > MAX_SIGHTINGS:
                del self._names[next(iter(self._names))]
        return True if there else False if seen else None

    def forget(self) -> None:
        """The connection was made anew."""
        self._names.clear()
