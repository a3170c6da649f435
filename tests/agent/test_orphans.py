"""Load balancers on devices that no definition names: without the controllers' word they stay."""

from typing import Any

import pytest

from evenkeel.agent.orphans import (
    ORPHANS_NAMED_MAX,
    failed_removals,
    merge_removal_outcome,
    name_orphans_in_errors,
    request_verdict,
)
from evenkeel.core.devices.device import PartitionOutcome, truncated_repair
from evenkeel.core.kit.errors import BusUnavailable, CallRefused, SessionLost
from evenkeel.core.protocol.messages import OrphanVerdict
from evenkeel.core.status.outcomes import Applied


class Client:
    """A shard's calls; answers, or raises, what the test says."""

    shard_id = "x"

    def __init__(self, answer: OrphanVerdict | Exception) -> None:
        self.answer = answer
        self.asked: list[tuple[str, ...]] = []

    async def judge_orphans(self, load_balancer_ids: tuple[str, ...]) -> OrphanVerdict:
        self.asked.append(load_balancer_ids)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


async def verdict(answer: OrphanVerdict | Exception) -> tuple[OrphanVerdict, tuple[str, ...]]:
    client: Any = Client(answer)
    found = await request_verdict(client, ("lb-1", "lb-2"))
    assert client.asked == [("lb-1", "lb-2")]
    return found


async def test_the_controllers_decide() -> None:
    said = OrphanVerdict(remove=("lb-1",), kept={"lb-2": 5.0}, again_seconds=5.0)
    assert await verdict(said) == (said, ())


@pytest.mark.parametrize("error", [BusUnavailable("no answer"), CallRefused("unknown", "no such call")])
async def test_without_an_answer_all_stay_and_the_controllers_are_queried_again(error: Exception) -> None:
    assert await verdict(error) == (OrphanVerdict(kept={"lb-1": None, "lb-2": None}), ("lb-1", "lb-2"))


async def test_orphans_are_not_judged_without_a_session() -> None:
    with pytest.raises(SessionLost):
        await verdict(SessionLost("it was replaced"))


def test_only_what_the_database_knows_is_reported() -> None:
    before = PartitionOutcome(outcomes=(), writes=2, repaired=(truncated_repair("lb", "d", ["a"]),))
    outcomes = (
        Applied(load_balancer_id="lb", revision=3),
        Applied(load_balancer_id="orphan", revision=0, error="in use"),
    )
    found = merge_removal_outcome(before, PartitionOutcome(outcomes=outcomes, writes=1), {"orphan"})
    assert (found.outcomes, found.writes, found.repaired) == (outcomes[:1], 3, before.repaired)


def test_refused_removals_are_those_that_a_device_did_not_carry_out() -> None:
    outcomes = (
        Applied(load_balancer_id="lb", revision=3, error="in use"),
        Applied(load_balancer_id="orphan", revision=0, error="in use"),
        Applied(load_balancer_id="other", revision=0),
    )
    assert failed_removals(PartitionOutcome(outcomes=outcomes), {"orphan", "other"}) == ("orphan",)


def test_errors_name_the_orphans_that_stay() -> None:
    outcomes = (
        Applied(load_balancer_id="lb", revision=3, error="in use"),
        Applied(load_balancer_id="other", revision=1),
    )
    outcome = PartitionOutcome(outcomes=outcomes)
    assert name_orphans_in_errors(outcome, {}) == outcome
    kept = {f"orphan-{number}": None if number else 61.7 for number in range(ORPHANS_NAMED_MAX + 2)}
    named, applied = name_orphans_in_errors(outcome, kept).outcomes
    assert applied == outcomes[1]
    assert named.error.startswith("in use; devices also hold load balancers that the database does not know")
    assert "orphan-0 (stays for 62 s), orphan-1 (stays), orphan-2 (stays) and 2 more" in named.error
    assert "evenkeel orphan remove" in named.error
