"""What absence means. All transports share the rule: a name is only missed by whoever saw it.

Right after a broker was restarted nobody is there yet, and that tells nothing about anybody. So each connection starts
with no sightings, and a name that it never saw present is not said to be gone.
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
