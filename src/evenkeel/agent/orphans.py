"""Handles load balancers and networks of projects on devices for which the database has no definition.

Only controllers can decide whether they may be removed.
"""

from collections.abc import Collection, Mapping

import structlog
from msgspec.structs import replace

from evenkeel.agent.shard_client import ShardClient
from evenkeel.core.devices.device import PartitionOutcome
from evenkeel.core.kit.errors import BusUnavailable, CallRefused
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.protocol import messages as m

log = structlog.get_logger(__name__)

ORPHANS_NAMED_MAX = 3
"""Maximum number of orphans named in the error of a load balancer."""


async def request_verdict(
    client: ShardClient, orphans: tuple[LoadBalancerId, ...]
) -> tuple[m.OrphanVerdict, tuple[LoadBalancerId, ...]]:
    """Request the controllers' decision which of the orphans may be removed. Returns (verdict, orphans for
    which it must be requested again). Without an answer the verdict removes none. Raises
    :class:`SessionLost`.
    """
    # Without a decision nothing is removed: an agent alone cannot distinguish an orphan from a lost commit.
    all_stay = m.OrphanVerdict(kept=dict.fromkeys(orphans))
    try:
        return await client.judge_orphans(orphans), ()
    except (BusUnavailable, CallRefused) as error:
        log.warning("no controller answered for the orphans; keeping them", shard=client.shard_id, error=str(error))
        return all_stay, orphans


def failed_removals(outcome: PartitionOutcome, removed: Collection[LoadBalancerId]) -> tuple[LoadBalancerId, ...]:
    """Return the load balancers of ``removed``, sorted, whose removal failed on a device."""
    return tuple(
        sorted(one.load_balancer_id for one in outcome.outcomes if one.error and one.load_balancer_id in removed)
    )


def merge_removal_outcome(
    before: PartitionOutcome, outcome: PartitionOutcome, removed: Collection[LoadBalancerId]
) -> PartitionOutcome:
    """Return the outcome of the batch that removed orphans, without the orphans' own outcomes, which the
    database cannot record; failed removals are logged.

    ``before``: outcome of the batch that found the orphans; its writes and repairs are added.
    """
    # The database has no row for an orphan, so a failed removal can only be logged.
    for one in outcome.outcomes:
        if one.load_balancer_id in removed and one.error:
            log.warning("orphan not removed", load_balancer=one.load_balancer_id, reason=one.error)
    return replace(
        outcome,
        outcomes=tuple(one for one in outcome.outcomes if one.load_balancer_id not in removed),
        writes=before.writes + outcome.writes,
        repaired=(*before.repaired, *outcome.repaired),
    )


def name_orphans_in_errors(outcome: PartitionOutcome, kept: Mapping[LoadBalancerId, float | None]) -> PartitionOutcome:
    """Return the outcome with the orphans that stay added to the errors of load balancers, because an orphan
    may occupy the wanted address. ``kept``: seconds after which each may be removed; None: it stays.
    """
    if not kept:
        return outcome
    texts = [f"{one} ({_remaining_time_text(seconds)})" for one, seconds in sorted(kept.items())[:ORPHANS_NAMED_MAX]]
    more = f" and {len(kept) - ORPHANS_NAMED_MAX} more" if len(kept) > ORPHANS_NAMED_MAX else ""
    hint = (
        f"; devices also hold load balancers that the database does not know, which may be in the way: "
        f"{', '.join(texts)}{more}; an operator can remove one with evenkeel orphan remove ID"
    )
    return replace(
        outcome, outcomes=tuple(replace(one, error=one.error + hint) if one.error else one for one in outcome.outcomes)
    )


def _remaining_time_text(seconds: float | None) -> str:
    return "stays" if seconds is None else f"stays for {seconds:.0f} s"
