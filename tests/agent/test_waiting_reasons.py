from evenkeel.agent.waiting_reasons import WaitingReasons
from tests.agent.test_work_list import A, B, definition


def test_reason_is_reported_once_for_each_change_and_reason() -> None:
    reasons, both = WaitingReasons(), (definition(A), definition(B))
    assert reasons.services_without_reported_reason(both, "no device answers", {A}) == (definition(A),), (
        "B waits for nothing"
    )
    reasons.record_reported([definition(A)], "no device answers")
    assert reasons.services_without_reported_reason(both, "no device answers", {A}) == ()
    assert reasons.services_without_reported_reason(both, "the device refuses", {A}) == (definition(A),)
    assert reasons.services_without_reported_reason([definition(A, revision=2)], "no device answers", {A}) == (
        definition(A, revision=2),
    )
    reasons.forget([A])
    assert reasons.services_without_reported_reason(both, "no device answers", {A}) == (definition(A),)
