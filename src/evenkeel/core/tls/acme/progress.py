"""Rules for the next step of a requested certificate. Pure: the time and the randomness are passed in.

=========  ===========================  =======================================
step       event                        next step
=========  ===========================  =======================================
check      :class:`NamesNotProvable`       check, later
check      :class:`OrderCreated`           place, at once
place      :class:`ChallengesNotApplied`          place, soon
place      :class:`ChallengesApplied`   answer, at once
answer     :class:`ChallengesAnswered`            collect
collect    :class:`OrderPending`           collect, later
any        :class:`CertificateIssued`              renewal, or check after two thirds of the lifetime
renewal    :class:`RenewalSuggested`    renewal, later, but not after the suggested time
renewal    :class:`RenewalDue`          check, at once
revoke     :class:`CertificateRevoked`             check, at once
revoke     :class:`RevocationRefused`   renewal or check, later
any        :class:`OrderRefused`        check, after a growing delay
any        :class:`OrderMissing`           check, later
any        :class:`StepInterrupted`     the same, later
=========  ===========================  =======================================

An order that is open for longer than :data:`ORDER_SECONDS` counts as refused.
"""

from typing import NamedTuple

from msgspec.structs import replace

from evenkeel.core.kit.backoff import Backoff, Uniform
from evenkeel.core.kit.values import Value
from evenkeel.core.tls.acme.values import AcmeProgress, AcmeState, AcmeStep, RenewalWindow
from evenkeel.core.tls.certificates import DAY_SECONDS

ORDER_SECONDS = 3600.0
"""Time after which an order that is not finished is given up."""
RETRY_AFTER_SECONDS_MAX = 7 * DAY_SECONDS
"""Longest delay, in seconds, that an authority may request."""
LEAST_RENEWAL_SECONDS = 60.0
"""Shortest interval, in seconds, between two orders of a certificate, for lifetimes of minutes."""
PROBLEM_CHARACTERS_MAX = 1000

# Quick at first: a load balancer that is created with the request is soon on a device.
_CHECK_BACKOFF = Backoff(initial_seconds=0.5, max_seconds=600.0, jitter=(1.0, 1.25))
_PLACEMENT_BACKOFF = Backoff(initial_seconds=0.25, max_seconds=5.0, factor=1.5)
_POLL_BACKOFF = Backoff(initial_seconds=0.5, max_seconds=30.0, factor=1.5)
_OUTAGE_BACKOFF = Backoff(initial_seconds=5.0, max_seconds=3600.0, jitter=(1.0, 1.25))
# Let's Encrypt allows five failed validations of an account and a name in an hour.
_FAILURE_BACKOFF = Backoff(initial_seconds=300.0, max_seconds=DAY_SECONDS, factor=3.0, jitter=(1.0, 1.25))
_RENEWAL_LIFETIME_FRACTION = 2 / 3
_SPREAD_LIFETIME_FRACTION = 1 / 24
"""Part of the lifetime over which renewals are spread."""
_LATEST_REMAINING_FRACTION = 0.9
"""Part of the rest of the lifetime after which a certificate is renewed, even if a later time is suggested."""
_RENEWAL_INFO_INTERVALS_SECONDS = (60.0, DAY_SECONDS)
"""Shortest and longest interval between two reads of renewal information (RFC 9773, 4.3)."""


class NamesNotProvable(Value):
    """Event: a DNS name of the certificate cannot be proven now, for ``reason``."""

    reason: str


class OrderCreated(Value):
    """Event: the authority has made a new order, at ``url``."""

    url: str


class ChallengesNotApplied(Value):
    """Event: devices or name servers do not have the challenges yet, for ``reason``."""

    reason: str


class ChallengesApplied(Value):
    """Event: all devices and name servers have the challenges."""


class ChallengesAnswered(Value):
    """Event: the authority was requested to validate the challenges."""


class OrderPending(Value):
    """Event: the authority is still validating or issuing. ``retry_after_seconds``: delay that the authority
    requests; 0: none.
    """

    retry_after_seconds: float = 0.0


class CertificateIssued(Value):
    """Event: the key manager has the newly issued certificate. ``not_before``, ``not_after``: its validity,
    in seconds since the epoch; ``certificate_id``: its identifier for the authority's renewal information,
    empty: none.
    """

    not_before: float
    not_after: float
    certificate_id: str = ""
    window: RenewalWindow | None = None
    """The authority's suggestion for the renewal; None: the authority suggests nothing."""


class RenewalSuggested(Value):
    """Event: the authority suggests a time for the renewal of the certificate."""

    window: RenewalWindow


class RenewalDue(Value):
    """Event: the time of the certificate's renewal has come."""


class CertificateRevoked(Value):
    """Event: the authority has revoked the issued certificate."""


class RevocationRefused(Value):
    """Event: the authority does not revoke the issued certificate, for the reason ``problem``."""

    problem: str


class OrderRefused(Value):
    """Event: the authority refused the order, or returned another certificate than the ordered one.
    ``retry_after_seconds``: delay that the authority requests; 0: none.
    """

    problem: str
    retry_after_seconds: float = 0.0


class OrderMissing(Value):
    """Event: the authority does not have the order any more, for ``reason``."""

    reason: str


class StepInterrupted(Value):
    """Event: the authority or another service did not answer, or not as it should, so the step has to be
    repeated. ``retry_after_seconds``: delay that the authority requests; 0: none.
    """

    problem: str
    retry_after_seconds: float = 0.0


Event = (
    NamesNotProvable
    | OrderCreated
    | ChallengesNotApplied
    | ChallengesApplied
    | ChallengesAnswered
    | OrderPending
    | CertificateIssued
    | RenewalSuggested
    | RenewalDue
    | CertificateRevoked
    | RevocationRefused
    | OrderRefused
    | OrderMissing
    | StepInterrupted
)


class AdvancedProgress(NamedTuple):
    """Result of a step: the next progress, the delay in seconds until its step (0: at once), and ``told``:
    kind and text of an event for operators, None if there is none.
    """

    progress: AcmeProgress
    delay_seconds: float
    told: tuple[str, str] | None = None


def advance_progress(now: AcmeProgress, event: Event, *, at: float, uniform: Uniform) -> AdvancedProgress:
    """Return the progress that follows from an event of the current step, with the delay until the next step.
    ``now``: the present progress; ``at``: the time, in seconds since the epoch; ``uniform``: source of
    randomness for delays.
    """
    if (
        now.order_url
        and at > now.order_until
        and not isinstance(event, CertificateIssued | OrderRefused | OrderMissing)
    ):
        minutes = round(ORDER_SECONDS / 60)
        event = OrderRefused(
            problem=f"The order was not finished within {minutes} minutes. {_failure_reason(event)}".rstrip()
        )
    match event:
        case NamesNotProvable(reason=reason):
            return _progress_with_retry(now, reason, _CHECK_BACKOFF, uniform, at=at, state=AcmeState.WAITING)
        case OrderCreated(url=url):
            made = replace(
                now,
                step=AcmeStep.PLACE,
                state=_issued_while_valid(now, AcmeState.ORDERING, at),
                problem="",
                order_url=url,
                order_until=at + ORDER_SECONDS,
                waits=0,
            )
            renewing = ("certificate_renewal_begun", "is being renewed") if now.not_after is not None else None
            return AdvancedProgress(made, 0.0, renewing)
        case ChallengesNotApplied(reason=reason):
            return _progress_with_retry(now, reason, _PLACEMENT_BACKOFF, uniform, at=at, state=AcmeState.ORDERING)
        case ChallengesApplied():
            return AdvancedProgress(replace(now, step=AcmeStep.ANSWER, problem="", waits=0), 0.0)
        case ChallengesAnswered():
            return AdvancedProgress(
                replace(now, step=AcmeStep.COLLECT, problem="", waits=0), _POLL_BACKOFF.initial_seconds
            )
        case OrderPending(retry_after_seconds=wanted):
            polled = _progress_with_retry(now, "", _POLL_BACKOFF, uniform, at=at, state=AcmeState.ORDERING)
            # The order is given up at its end, whatever delay the authority wants.
            longest = max(now.order_until - at, 0.0) + 1.0
            return polled._replace(delay_seconds=min(max(polled.delay_seconds, wanted), longest))
        case CertificateIssued():
            return _progress_after_issue(event, at, uniform)
        case RenewalSuggested(window=window):
            suggested = _progress_to_renewal_window(now, window, at, uniform)
            if suggested.delay_seconds <= 0:
                return AdvancedProgress(replace(suggested.progress, step=AcmeStep.CHECK), 0.0)
            return suggested
        case RenewalDue():
            return AdvancedProgress(replace(now, step=AcmeStep.CHECK, problem="", waits=0), 0.0)
        case CertificateRevoked():
            # The certificate counts as missing: another one is ordered at once.
            return AdvancedProgress(AcmeProgress(), 0.0, ("certificate_revoked", f"was revoked: {now.revocation}"))
        case RevocationRefused(problem=problem):
            text = problem[:PROBLEM_CHARACTERS_MAX]
            step = AcmeStep.RENEWAL if now.certificate_id else AcmeStep.CHECK
            kept = replace(now, step=step, problem=text, revocation="", waits=0)
            delay = LEAST_RENEWAL_SECONDS if now.certificate_id else max(now.renew_at - at, LEAST_RENEWAL_SECONDS)
            return AdvancedProgress(kept, delay, ("certificate_revocation_failed", f"was not revoked: {text}"))
        case OrderRefused(problem=problem, retry_after_seconds=wanted):
            return _progress_after_refusal(now, problem, wanted, at, uniform)
        case OrderMissing(reason=reason):
            lost = replace(now, step=AcmeStep.CHECK, order_url="", order_until=0.0)
            return _progress_with_retry(lost, reason, _OUTAGE_BACKOFF, uniform, at=at, state=AcmeState.WAITING)
        case StepInterrupted(problem=problem, retry_after_seconds=wanted):
            state = AcmeState.ORDERING if now.order_url else AcmeState.WAITING
            later = _progress_with_retry(
                now, problem, _OUTAGE_BACKOFF, uniform, at=at, state=state, wanted_seconds=wanted
            )
            if now.step is AcmeStep.RENEWAL:  # without an answer the time known last counts
                return later._replace(delay_seconds=min(later.delay_seconds, max(now.renew_at - at, 1.0)))
            return later


def _progress_with_retry(
    now: AcmeProgress,
    problem: str,
    backoff: Backoff,
    uniform: Uniform,
    *,
    at: float,
    state: AcmeState,
    wanted_seconds: float = 0.0,
) -> AdvancedProgress:
    waits = now.waits + 1
    delay = max(backoff.delay_seconds(waits, uniform), min(wanted_seconds, RETRY_AFTER_SECONDS_MAX))
    later = replace(
        now, state=_issued_while_valid(now, state, at), problem=problem[:PROBLEM_CHARACTERS_MAX], waits=waits
    )
    return AdvancedProgress(later, delay)


def _progress_after_issue(event: CertificateIssued, at: float, uniform: Uniform) -> AdvancedProgress:
    lifetime = max(event.not_after - event.not_before, 0.0)
    renew_at = event.not_before + lifetime * (_RENEWAL_LIFETIME_FRACTION + uniform(0.0, _SPREAD_LIFETIME_FRACTION))
    issued = AcmeProgress(
        state=AcmeState.ISSUED, not_after=event.not_after, certificate_id=event.certificate_id if event.window else ""
    )
    if event.window is not None:
        suggested = _progress_to_renewal_window(replace(issued, step=AcmeStep.RENEWAL), event.window, at, uniform)
        delay = max(suggested.delay_seconds, LEAST_RENEWAL_SECONDS)
        return suggested._replace(delay_seconds=delay, told=("certificate_issued", "was issued"))
    issued = replace(issued, renew_at=renew_at)
    return AdvancedProgress(issued, max(renew_at - at, LEAST_RENEWAL_SECONDS), ("certificate_issued", "was issued"))


def _progress_to_renewal_window(
    now: AcmeProgress, window: RenewalWindow, at: float, uniform: Uniform
) -> AdvancedProgress:
    """Return the renewal at a moment of the authority's window, or at :data:`_LATEST_REMAINING_FRACTION` of the
    remaining lifetime if that is earlier. A known moment stays as long as it is in the window (RFC 9773, 4.2).
    """
    start, end = window.start, max(window.start, window.end)
    # A certificate is not left to expire, whatever is suggested.
    latest = at + ((now.not_after or at) - at) * _LATEST_REMAINING_FRACTION
    known = now.renew_at if start <= now.renew_at <= end else uniform(start, end)
    renew_at = min(known, latest)
    again = min(max(window.retry_after_seconds, _RENEWAL_INFO_INTERVALS_SECONDS[0]), _RENEWAL_INFO_INTERVALS_SECONDS[1])
    kept = replace(now, state=AcmeState.ISSUED, problem="", waits=0, renew_at=renew_at)
    return AdvancedProgress(kept, min(again, max(renew_at - at, 0.0)))


def _progress_after_refusal(
    now: AcmeProgress, problem: str, wanted_seconds: float, at: float, uniform: Uniform
) -> AdvancedProgress:
    failures, text = now.failures + 1, problem[:PROBLEM_CHARACTERS_MAX]
    failed = AcmeProgress(
        state=_issued_while_valid(now, AcmeState.FAILED, at),
        problem=text,
        failures=failures,
        not_after=now.not_after,
        certificate_id=now.certificate_id,
    )
    delay = max(_FAILURE_BACKOFF.delay_seconds(failures, uniform), min(wanted_seconds, RETRY_AFTER_SECONDS_MAX))
    return AdvancedProgress(failed, delay, ("certificate_failed", f"was not issued: {text}"))


def _issued_while_valid(now: AcmeProgress, state: AcmeState, at: float) -> AcmeState:
    """Return ISSUED while the key manager has a certificate that is valid at ``at``; else ``state``."""
    return AcmeState.ISSUED if now.not_after is not None and now.not_after > at else state


def _failure_reason(event: Event) -> str:
    """Return why a step did not succeed; empty if the event does not contain a reason."""
    match event:
        case NamesNotProvable(reason=text) | ChallengesNotApplied(reason=text) | StepInterrupted(problem=text):
            return text
        case _:
            return ""
