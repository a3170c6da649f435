"""Imports load balancers of any source: each is checked, and with ``apply`` created. An interrupted import can be
repeated and continues.
"""

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from evenkeel.cli.client import API_PATH, ApiRefused, Client, quote_segment
from evenkeel.cli.moving_in.foreign import ForeignLoadBalancer
from evenkeel.core.kit.words import count_with_noun

OUTCOME_REFUSED = "refused"
"""Outcome of a load balancer that cannot be imported."""
OUTCOME_SKIPPED = "skipped"
"""Outcome of a load balancer that is not imported now, because its own system is changing it."""
OUTCOME_DIFFERS = "differs"
"""Outcome of a load balancer that exists here with other attributes, and is never changed."""
OUTCOME_OUTDATED = "outdated"
"""Outcome of a held load balancer with other attributes, which ``apply`` would update."""
CONCURRENT_REQUESTS_MAX = 4
"""Maximum number of concurrent requests to Even Keel's API."""


class ImportRow(NamedTuple):
    """Outcome of the import of one load balancer."""

    load_balancer: ForeignLoadBalancer
    outcome: str
    """``new``, ``imported``, ``present``, :data:`OUTCOME_OUTDATED` or ``updated`` (of a held load balancer),
    :data:`OUTCOME_DIFFERS`, :data:`OUTCOME_REFUSED` or :data:`OUTCOME_SKIPPED`.
    """
    remarks: tuple[str, ...] = ()
    """Differences from the stored load balancer, or the reason of a refusal."""

    @property
    def carried_over(self) -> bool:
        """Whether Even Keel has the load balancer, or would with ``apply``: it was neither refused nor
        skipped.
        """
        return self.outcome not in (OUTCOME_REFUSED, OUTCOME_SKIPPED)


def import_load_balancers(
    client: Client, load_balancers: Iterable[ForeignLoadBalancer], *, environment: str, apply: bool, held: bool = False
) -> Iterator[ImportRow]:
    """Check each load balancer, and create it with ``apply``; yield the outcomes in the given order. A
    refused one does not stop the others. ``held``: no device gets the load balancer before its
    switch-over.

    Raises :class:`evenkeel.cli.client.EndpointsUnreachable`: repeating the import continues where it ended.
    """

    def import_one(load_balancer: ForeignLoadBalancer) -> ImportRow:
        if load_balancer.not_importable_reason:
            return ImportRow(load_balancer, OUTCOME_SKIPPED, (load_balancer.not_importable_reason,))
        body = {"apply": apply, "held": held, "loadbalancer": {**load_balancer.body, "provider": environment}}
        try:
            answer = client.put(f"{API_PATH}/imports/loadbalancers/{quote_segment(load_balancer.id)}", body)["import"]
        except ApiRefused as error:
            return ImportRow(load_balancer, OUTCOME_REFUSED, (str(error),))
        return ImportRow(load_balancer, answer["outcome"], tuple(answer["differences"]))

    pool = ThreadPoolExecutor(max_workers=CONCURRENT_REQUESTS_MAX)
    try:
        yield from pool.map(import_one, load_balancers)
    finally:
        pool.shutdown(cancel_futures=True)


_REMARK_WORDS = {OUTCOME_DIFFERS: "differs", OUTCOME_OUTDATED: "would be updated", "updated": "was different"}
"""Word before a remark, by outcome."""


def outcome_lines(row: ImportRow) -> Iterator[str]:
    """Yield lines that show the outcome of one load balancer."""
    name = f" {row.load_balancer.name}" if row.load_balancer.name else ""
    yield f"{row.outcome:<9}{row.load_balancer.id}{name}"
    yield from (f"  {_REMARK_WORDS.get(row.outcome, 'because')}: {remark}" for remark in row.remarks)
    if row.outcome in ("new", "imported", OUTCOME_OUTDATED, "updated"):
        yield from (f"  note: {remark}" for remark in row.load_balancer.remarks)
        yield from (f"  not carried over: {lost}" for lost in row.load_balancer.lost)


def outcome_summary(outcomes: Mapping[str, int]) -> str:
    """Return one line with the number of load balancers by outcome."""
    outcome_counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items())) or "none"
    return f"{count_with_noun(sum(outcomes.values()), 'load balancer')}: {outcome_counts}"


def import_row_as_json(row: ImportRow) -> dict[str, Any]:
    """Return the outcome of one load balancer as an object of the command's JSON output."""
    return {
        "id": row.load_balancer.id,
        "name": row.load_balancer.name,
        "project_id": row.load_balancer.project_id,
        "outcome": row.outcome,
        "remarks": [*row.remarks, *row.load_balancer.remarks],
        "not_carried_over": [lost._asdict() for lost in row.load_balancer.lost],
    }
