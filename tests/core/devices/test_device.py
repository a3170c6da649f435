"""What a driver tells of its repairs is bounded."""

from evenkeel.core.devices.device import FINDING_CHARACTERS_MAX, FINDINGS_MAX, truncated_repair


def test_a_repair_reports_a_few_findings_and_counts_the_rest() -> None:
    few = truncated_repair("lb", "d", ["a", "b"])
    assert few.found == ("a", "b")
    many = truncated_repair("lb", "d", [f"{n}" for n in range(FINDINGS_MAX + 5)])
    assert len(many.found) == FINDINGS_MAX
    assert many.found[-1] == "and 6 more"
    exact = truncated_repair("lb", "d", ["x" * 1000] * FINDINGS_MAX)
    assert [len(text) for text in exact.found] == [FINDING_CHARACTERS_MAX] * FINDINGS_MAX
