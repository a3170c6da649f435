"""Metrics of several processes in one exposition: each adds a label to its metrics, and the parent merges the texts."""

import re
from collections.abc import Iterable, Iterator

from prometheus_client import Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

PROCESS_LABEL = "worker"
EXPOSITION_END = b"# EOF\n"
"""Last line of an exposition in OpenMetrics."""
_FAMILY_PATTERN = re.compile(rb"^(?=# HELP )", re.MULTILINE)


class LabelledRegistry(Collector):
    """A registry that adds the label ``worker``, with the value ``process``, to all samples of ``registry``
    that lack it.
    """

    def __init__(self, registry: Collector, process: str) -> None:
        self._registry = registry
        self._process = process

    def collect(self) -> Iterator[Metric]:
        """Yield all metric families with the label, for one exposition."""
        for family in self._registry.collect():
            labelled = Metric(family.name, family.documentation, family.type, family.unit)
            # The sample's own label wins: metrics about workers, which the parent exposes, have it already.
            labelled.samples = [
                sample._replace(labels={PROCESS_LABEL: self._process, **sample.labels}) for sample in family.samples
            ]
            yield labelled


def metrics_exposition(registry: Collector, process: str, accept: str) -> bytes:
    """Return the metrics of ``registry`` with the label ``worker`` set to ``process``, in the format for a
    scraper's Accept header ``accept``.
    """
    encode, _ = choose_encoder(accept)
    text: bytes = encode(LabelledRegistry(registry, process))
    return text


def merge_expositions(texts: Iterable[bytes]) -> bytes:
    """Merge the expositions of several processes, all in one format: each family once, with the samples of all."""
    families: dict[bytes, list[bytes]] = {}
    end = b""
    for text in texts:
        # OpenMetrics allows its end mark once, as the last line of the whole exposition. Prometheus's older text
        # format has none.
        if text.endswith(EXPOSITION_END):
            text, end = text[: -len(EXPOSITION_END)], EXPOSITION_END
        for family in _FAMILY_PATTERN.split(text):
            if family:
                head, samples = _comments_and_samples(family)
                families.setdefault(head, []).append(samples)
    return b"".join(head + b"".join(samples) for head, samples in families.items()) + end


def _comments_and_samples(family: bytes) -> tuple[bytes, bytes]:
    """Split a metric family's text into its leading comments (``HELP``, ``TYPE``, ``UNIT``) and its samples."""
    at = 0
    while family.startswith(b"# ", at):
        at = family.index(b"\n", at) + 1
    return family[:at], family[at:]
