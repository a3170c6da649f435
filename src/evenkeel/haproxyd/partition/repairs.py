"""What was repaired in a partition, until its owner is told with the next receipt."""

from collections.abc import Collection, Mapping

TEXTS_MAX = 20
"""Of one load balancer; later ones are dropped."""


class RepairReport:
    """Of one partition; bounded by what it holds. Lost when the daemon ends: the log has it all."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {}

    def add(self, repaired: Mapping[str, tuple[str, ...]]) -> None:
        """Texts by load balancer id; one that is there already is not repeated."""
        for load_balancer_id, texts in repaired.items():
            known = self._texts.setdefault(load_balancer_id, [])
            known.extend(text for text in texts if text not in known)
            del known[TEXTS_MAX:]

    def add_to_all(self, missing: str, load_balancer_ids: Collection[str]) -> None:
        """Something that all of them need is missing, and is restored."""
        self.add(dict.fromkeys(load_balancer_ids, (f"{missing}; put right",)))

    def take(self, held: Collection[str]) -> dict[str, tuple[str, ...]]:
        """All of load balancers that are still held; they are told once."""
        taken, self._texts = self._texts, {}
        return {name: tuple(texts) for name, texts in taken.items() if name in held}
