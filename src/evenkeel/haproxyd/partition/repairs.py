"""Repairs in a partition, collected until the next receipt reports them to the owner."""

from collections.abc import Collection, Mapping

TEXTS_MAX = 20
"""Maximum number of texts for one load balancer; further texts are dropped."""


class PendingRepairTexts:
    """Descriptions of repairs in one partition, kept in memory for the next receipt; the log has all repairs."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {}

    def add(self, repaired: Mapping[str, tuple[str, ...]]) -> None:
        """Add descriptions of repairs, ``{load balancer id: descriptions}``; a description that a load
        balancer has already is not repeated.
        """
        for load_balancer_id, texts in repaired.items():
            known = self._texts.setdefault(load_balancer_id, [])
            known.extend(text for text in texts if text not in known)
            del known[TEXTS_MAX:]

    def add_to_all(self, missing: str, load_balancer_ids: Collection[str]) -> None:
        """Add the text ``missing``, marked as repaired, to each of the load balancers, because something that
        they share was missing and was restored.
        """
        self.add(dict.fromkeys(load_balancer_ids, (f"{missing}; repaired",)))

    def take_texts(self, held: Collection[str]) -> dict[str, tuple[str, ...]]:
        """Remove all descriptions, and return those about load balancers in ``held``, ``{load balancer id:
        descriptions}``.
        """
        taken, self._texts = self._texts, {}
        return {name: tuple(texts) for name, texts in taken.items() if name in held}
