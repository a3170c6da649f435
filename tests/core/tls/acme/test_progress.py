"""What follows from each step of a requested certificate, in any order of events."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from evenkeel.core.tls.acme import progress as p
from evenkeel.core.tls.acme.values import ORDERED_STEPS, AcmeProgress, AcmeState, AcmeStep, RenewalWindow
from evenkeel.core.tls.certificates import DAY_SECONDS

AT = 1_700_000_000.0
URL = "https://ca.example/order/1"
ISSUED = p.CertificateIssued(not_before=AT, not_after=AT + 90 * DAY_SECONDS)


def lowest(low: float, _high: float) -> float:
    return low


def after(*events: p.Event, at: float = AT, now: AcmeProgress | None = None) -> p.AdvancedProgress:
    result = p.AdvancedProgress(now or AcmeProgress(), 0.0)
    for event in events:
        result = p.advance_progress(result.progress, event, at=at, uniform=lowest)
    return result


def test_an_order_goes_through_all_steps_and_is_renewed_after_two_thirds_of_the_lifetime() -> None:
    steps = [p.OrderCreated(url=URL), p.ChallengesApplied(), p.ChallengesAnswered(), p.OrderPending(), ISSUED]
    seen = [after(*steps[: number + 1]) for number in range(len(steps))]
    assert [each.progress.step for each in seen] == [
        AcmeStep.PLACE,
        AcmeStep.ANSWER,
        AcmeStep.COLLECT,
        AcmeStep.COLLECT,
        AcmeStep.CHECK,
    ]
    assert [each.delay_seconds for each in seen[:2]] == [0.0, 0.0]
    assert seen[-1].progress == AcmeProgress(
        state=AcmeState.ISSUED, not_after=ISSUED.not_after, renew_at=pytest.approx(AT + 60 * DAY_SECONDS)
    )
    assert seen[-1].delay_seconds == pytest.approx(60 * DAY_SECONDS)
    assert seen[-1].told == ("certificate_issued", "was issued")


def test_a_name_that_cannot_be_proven_makes_no_order_and_waits_ever_longer() -> None:
    delays = [after(*[p.NamesNotProvable(reason="no address")] * number).delay_seconds for number in range(1, 14)]
    assert delays == sorted(delays) and delays[0] == 0.5 and delays[-1] == 600.0
    waiting = after(p.NamesNotProvable(reason="no address")).progress
    assert (waiting.state, waiting.problem, waiting.order_url) == (AcmeState.WAITING, "no address", "")


def test_failures_are_told_and_delay_the_next_order_ever_longer() -> None:
    refusals = [p.OrderCreated(url=URL), p.OrderRefused(problem="no")]
    delays = [after(*refusals * number).delay_seconds for number in range(1, 9)]
    assert delays == sorted(delays) and delays[0] == 300.0 and delays[-1] == DAY_SECONDS
    failed = after(*refusals)
    assert failed.progress.state is AcmeState.FAILED and failed.progress.order_url == ""
    assert failed.told == ("certificate_failed", "was not issued: no")


def test_the_delay_that_an_authority_wants_is_respected_up_to_a_week() -> None:
    assert after(p.OrderRefused(problem="slow down", retry_after_seconds=90_000.0)).delay_seconds == 90_000.0
    assert after(p.OrderRefused(problem="never", retry_after_seconds=1e9)).delay_seconds == p.RETRY_AFTER_SECONDS_MAX
    assert after(p.StepInterrupted(problem="busy", retry_after_seconds=77.0)).delay_seconds == 77.0


def test_a_failed_renewal_leaves_the_certificate_issued_until_its_end() -> None:
    issued = after(ISSUED).progress
    renewing = after(p.OrderCreated(url=URL), now=issued)
    assert renewing.told == ("certificate_renewal_begun", "is being renewed")
    failed = after(p.OrderRefused(problem="no"), now=renewing.progress).progress
    assert (failed.state, failed.problem, failed.not_after) == (AcmeState.ISSUED, "no", ISSUED.not_after)
    ended = after(p.OrderRefused(problem="no"), now=failed, at=ISSUED.not_after + 1).progress
    assert ended.state is AcmeState.FAILED


def test_an_order_that_is_never_finished_is_given_up_with_the_last_reason() -> None:
    ordering = after(p.OrderCreated(url=URL)).progress
    late = after(p.ChallengesNotApplied(reason="the host is away"), now=ordering, at=AT + p.ORDER_SECONDS + 1)
    assert late.progress.state is AcmeState.FAILED and late.progress.order_url == ""
    assert "the host is away" in late.progress.problem


def test_an_order_that_the_authority_does_not_know_is_made_again() -> None:
    ordering = after(p.OrderCreated(url=URL), p.ChallengesApplied()).progress
    lost = after(p.OrderMissing(reason="unknown"), now=ordering)
    assert (lost.progress.step, lost.progress.order_url, lost.delay_seconds) == (AcmeStep.CHECK, "", 5.0)


def test_an_outage_repeats_the_step() -> None:
    ordering = after(p.OrderCreated(url=URL), p.ChallengesApplied(), p.ChallengesAnswered()).progress
    out = after(p.StepInterrupted(problem="down"), now=ordering)
    assert replace(out.progress, problem="", waits=0) == ordering and out.delay_seconds == 5.0


def suggested(start: float, end: float, *, retry_after_seconds: float = 6 * 3600.0) -> RenewalWindow:
    return RenewalWindow(start=start, end=end, retry_after_seconds=retry_after_seconds)


DAYS = DAY_SECONDS
WINDOW = suggested(AT + 50 * DAYS, AT + 52 * DAYS)
SUGGESTED = replace(ISSUED, certificate_id="aki.serial", window=WINDOW)


def test_a_suggested_renewal_is_read_again_until_its_time_has_come() -> None:
    issued = after(SUGGESTED)
    assert (issued.progress.step, issued.progress.renew_at) == (AcmeStep.RENEWAL, AT + 50 * DAYS)
    assert (issued.delay_seconds, issued.told) == (6 * 3600.0, ("certificate_issued", "was issued"))
    near = AT + 50 * DAYS - 60.0
    assert after(p.RenewalSuggested(window=WINDOW), now=issued.progress, at=near).delay_seconds == 60.0
    due = after(p.RenewalDue(), now=issued.progress, at=AT + 50 * DAYS)
    assert (due.progress.step, due.progress.state, due.delay_seconds) == (AcmeStep.CHECK, AcmeState.ISSUED, 0.0)
    assert due.progress.certificate_id == "aki.serial"


def test_the_moment_of_the_renewal_is_kept_while_it_is_in_the_window() -> None:
    now = replace(after(SUGGESTED).progress, renew_at=AT + 51 * DAYS)
    assert after(p.RenewalSuggested(window=WINDOW), now=now).progress.renew_at == AT + 51 * DAYS
    later = suggested(AT + 55 * DAYS, AT + 56 * DAYS)
    assert after(p.RenewalSuggested(window=later), now=now).progress.renew_at == AT + 55 * DAYS


def test_a_window_in_the_past_renews_at_once_and_one_after_the_end_before_it() -> None:
    now = after(SUGGESTED).progress
    past = after(p.RenewalSuggested(window=suggested(AT - DAYS, AT - 1)), now=now)
    assert (past.progress.step, past.delay_seconds) == (AcmeStep.CHECK, 0.0)
    never = after(p.RenewalSuggested(window=suggested(AT + 900 * DAYS, AT + 901 * DAYS)), now=now)
    assert never.progress.renew_at == AT + 81 * DAYS


@pytest.mark.parametrize(("wanted", "used"), [(1.0, 60.0), (7200.0, 7200.0), (1e9, DAY_SECONDS)])
def test_the_interval_of_reads_is_the_authoritys_within_bounds(wanted: float, used: float) -> None:
    window = suggested(WINDOW.start, WINDOW.end, retry_after_seconds=wanted)
    assert after(p.RenewalSuggested(window=window), now=after(SUGGESTED).progress).delay_seconds == used


def test_an_authority_that_does_not_answer_does_not_delay_the_renewal() -> None:
    now = after(SUGGESTED).progress
    out = after(p.StepInterrupted(problem="down", retry_after_seconds=1e6), now=now, at=AT + 50 * DAYS - 10)
    assert (out.progress.step, out.progress.state, out.delay_seconds) == (AcmeStep.RENEWAL, AcmeState.ISSUED, 10.0)


def test_a_revoked_certificate_is_ordered_anew_at_once() -> None:
    revoking = replace(after(SUGGESTED).progress, step=AcmeStep.REVOKE, revocation="keyCompromise")
    revoked = after(p.CertificateRevoked(), now=revoking)
    assert (revoked.progress, revoked.delay_seconds) == (AcmeProgress(), 0.0)
    assert revoked.told == ("certificate_revoked", "was revoked: keyCompromise")


@pytest.mark.parametrize(
    ("event", "step", "delay"), [(SUGGESTED, AcmeStep.RENEWAL, 60.0), (ISSUED, AcmeStep.CHECK, 60 * DAY_SECONDS)]
)
def test_a_refused_revocation_leaves_the_certificate_and_its_renewal(
    event: p.CertificateIssued, step: AcmeStep, delay: float
) -> None:
    revoking = replace(after(event).progress, step=AcmeStep.REVOKE, revocation="superseded")
    refused = after(p.RevocationRefused(problem="no"), now=revoking)
    assert (refused.progress.step, refused.progress.state) == (step, AcmeState.ISSUED)
    assert (refused.progress.problem, refused.progress.revocation) == ("no", "")
    assert refused.delay_seconds == pytest.approx(delay)


TEXTS = st.sampled_from(["", "a reason", "x" * 5000])
SECONDS = st.floats(0, 1e12)
WINDOWS = st.builds(RenewalWindow, start=SECONDS, end=SECONDS, retry_after_seconds=SECONDS)
EVENTS: st.SearchStrategy[p.Event] = st.one_of(
    st.builds(p.NamesNotProvable, reason=TEXTS),
    st.builds(p.OrderCreated, url=st.just(URL)),
    st.builds(p.ChallengesNotApplied, reason=TEXTS),
    st.builds(p.ChallengesApplied),
    st.builds(p.ChallengesAnswered),
    st.builds(p.OrderPending, retry_after_seconds=SECONDS),
    st.builds(p.CertificateIssued, not_before=SECONDS, not_after=SECONDS),
    st.builds(p.CertificateIssued, not_before=SECONDS, not_after=SECONDS, certificate_id=st.just("id"), window=WINDOWS),
    st.builds(p.RenewalSuggested, window=WINDOWS),
    st.builds(p.RenewalDue),
    st.builds(p.OrderRefused, problem=TEXTS, retry_after_seconds=SECONDS),
    st.builds(p.OrderMissing, reason=TEXTS),
    st.builds(p.StepInterrupted, problem=TEXTS, retry_after_seconds=SECONDS),
)
POSSIBLE: dict[AcmeStep, tuple[type[Any], ...]] = {
    AcmeStep.CHECK: (p.NamesNotProvable, p.OrderCreated, p.OrderRefused, p.StepInterrupted),
    AcmeStep.PLACE: (p.ChallengesNotApplied, p.ChallengesApplied, p.OrderRefused, p.OrderMissing, p.StepInterrupted),
    AcmeStep.ANSWER: (p.ChallengesAnswered, p.OrderRefused, p.OrderMissing, p.StepInterrupted),
    AcmeStep.RENEWAL: (p.RenewalSuggested, p.RenewalDue, p.StepInterrupted),
    AcmeStep.COLLECT: (p.OrderPending, p.CertificateIssued, p.OrderRefused, p.OrderMissing, p.StepInterrupted),
}
"""Kinds of events of each step."""


@given(st.lists(st.tuples(EVENTS, st.floats(0, 100 * DAY_SECONDS)), max_size=30), st.floats(0, 1))
def test_any_history_keeps_the_order_with_its_steps_and_ends_in_a_bounded_delay(
    history: list[tuple[p.Event, float]], share: float
) -> None:
    now, at = AcmeProgress(), AT
    for event, passed in history:
        if not isinstance(event, POSSIBLE[now.step]):
            continue
        at += passed
        result = p.advance_progress(now, event, at=at, uniform=lambda low, high: low + share * (high - low))
        was, now = now, result.progress
        assert bool(now.order_url) == (now.step in ORDERED_STEPS) == bool(now.order_until)
        assert len(now.problem) <= p.PROBLEM_CHARACTERS_MAX and result.delay_seconds >= 0
        if not isinstance(event, p.CertificateIssued):
            assert result.delay_seconds <= p.RETRY_AFTER_SECONDS_MAX
        if result.delay_seconds == 0:
            assert now.step is not was.step
        if now.not_after is not None and now.not_after > at:
            assert now.state is AcmeState.ISSUED
        # At an end of an order nothing of it is left, and every failure is told.
        if isinstance(event, p.OrderRefused):
            assert now.failures == was.failures + 1 and result.told is not None
