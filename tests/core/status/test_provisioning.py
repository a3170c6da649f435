"""The rule for outcomes, whatever the order of reports."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from evenkeel.core.resources.statuses import PENDING, OperatingStatus, ProvisioningStatus
from evenkeel.core.status.outcomes import Applied
from evenkeel.core.status.provisioning import LoadBalancerState, apply_report

ACCEPT, DELETE = "accept", "delete"

outcomes = st.builds(
    Applied, load_balancer_id=st.just("lb"), revision=st.integers(0, 8), error=st.sampled_from(["", "refused"])
)
steps = st.lists(st.one_of(st.just(ACCEPT), st.just(DELETE), outcomes), max_size=30)

NEW = LoadBalancerState(
    id="lb",
    revision=1,
    change_id="",
    earlier_changes="",
    applied_revision=0,
    deleted=False,
    admin_state_up=True,
    provisioning_status=ProvisioningStatus.PENDING_CREATE,
    operating_status=OperatingStatus.OFFLINE,
    pending_deadline=1.0,
)


def accepted(was: LoadBalancerState, *, delete: bool = False) -> LoadBalancerState:
    """What the API makes of it."""
    status = ProvisioningStatus.PENDING_DELETE if delete else ProvisioningStatus.PENDING_UPDATE
    if not delete and was.applied_revision == 0:
        status = ProvisioningStatus.PENDING_CREATE
    return replace(
        was,
        revision=was.revision + 1,
        provisioning_status=status,
        deleted=delete,
        status_reason="",
        pending_deadline=1.0,
    )


@given(steps)
def test_any_order_of_reports_and_changes_keeps_the_books_straight(history: list[Applied | str]) -> None:
    state = NEW
    confirmed: set[int] = {0}
    for step in history:
        if isinstance(step, str):
            if not state.deleted:
                state = accepted(state, delete=step == DELETE)
            continue
        change = apply_report(state, step)
        if not step.error and step.revision <= state.revision:
            confirmed.add(step.revision)
        if change is None:
            continue
        if change.removed:
            assert state.deleted and step.revision == state.revision and not step.error
            return
        assert change.now.applied_revision >= state.applied_revision
        assert change.now.revision == state.revision
        state = change.now
        assert state.applied_revision in confirmed
        assert state.applied_revision <= state.revision
        if state.provisioning_status is ProvisioningStatus.ACTIVE:
            assert state.applied_revision == state.revision and not state.deleted
        if state.applied_revision < state.revision:
            assert state.provisioning_status in PENDING | {ProvisioningStatus.ERROR}
        assert (state.pending_deadline is not None) == (state.provisioning_status in PENDING)
        assert bool(state.status_reason) == (state.provisioning_status is ProvisioningStatus.ERROR)


@given(steps)
def test_confirming_the_newest_revision_always_heals(history: list[Applied | str]) -> None:
    state = NEW
    for step in history:
        if isinstance(step, str):
            state = accepted(state)
        elif change := apply_report(state, step):
            state = change.now
    change = apply_report(state, Applied(load_balancer_id="lb", revision=state.revision))
    healed = change.now if change else state
    assert healed.provisioning_status is ProvisioningStatus.ACTIVE
    assert apply_report(healed, Applied(load_balancer_id="lb", revision=healed.revision)) is None


def test_waiting_outcome_stays_pending_with_the_reason() -> None:
    was = accepted(NEW)
    waiting = Applied(load_balancer_id=was.id, revision=was.revision, error="device b: no connection", waiting=True)
    told = apply_report(was, waiting)
    assert told is not None and not told.failed
    assert told.now == replace(was, status_reason="device b: no connection")
    assert apply_report(told.now, waiting) is None
    done = apply_report(told.now, Applied(load_balancer_id=was.id, revision=was.revision))
    assert done is not None and done.now.provisioning_status is ProvisioningStatus.ACTIVE and not done.now.status_reason


def test_waiting_states_nothing_of_what_is_not_pending_or_was_changed_since() -> None:
    was = accepted(NEW)
    waiting = Applied(load_balancer_id=was.id, revision=was.revision, error="no device", waiting=True)
    assert apply_report(accepted(was), waiting) is None
    for status in (ProvisioningStatus.ACTIVE, ProvisioningStatus.ERROR):
        assert apply_report(replace(was, provisioning_status=status, pending_deadline=None), waiting) is None


@st.composite
def reports_in_two_orders(draw: st.DrawFn) -> tuple[int, dict[int, str], list[int], list[int]]:
    """Newest revision, what the device said of each revision, and two deliveries of that: any order, any number."""
    newest = draw(st.integers(1, 6))
    verdicts = {revision: draw(st.sampled_from(["", "refused"])) for revision in range(1, newest + 1)}
    reported = draw(st.lists(st.integers(1, newest), min_size=1, unique=True))
    repeated = [*reported, *draw(st.lists(st.sampled_from(reported), max_size=6))]
    return newest, verdicts, draw(st.permutations(reported)), draw(st.permutations(repeated))


@given(reports_in_two_orders())
def test_the_end_does_not_depend_on_the_order_or_repetition_of_reports(
    case: tuple[int, dict[int, str], list[int], list[int]],
) -> None:
    newest, verdicts, *deliveries = case
    ends = []
    for revisions in deliveries:
        state = replace(NEW, revision=newest)
        for revision in revisions:
            outcome = Applied(load_balancer_id="lb", revision=revision, error=verdicts[revision])
            if change := apply_report(state, outcome):
                assert change.now.applied_revision >= state.applied_revision
                state = change.now
            again = apply_report(state, outcome)
            assert again is None or again.now == state
        ends.append(state)
    first, second = ends
    reported = set(deliveries[0])
    assert first.applied_revision == max((one for one in reported if not verdicts[one]), default=0)
    is_confirmed = newest in reported and not verdicts[newest]
    assert (first.provisioning_status is ProvisioningStatus.ACTIVE) == is_confirmed
    assert first == second


@given(st.lists(outcomes, max_size=12))
def test_outcome_of_an_older_revision_never_undoes_a_confirmation(late: list[Applied]) -> None:
    state = replace(NEW, revision=8, applied_revision=8, provisioning_status=ProvisioningStatus.ACTIVE)
    state = replace(state, operating_status=OperatingStatus.ONLINE, pending_deadline=None)
    for outcome in late:
        if outcome.revision < state.revision:
            assert apply_report(state, outcome) is None


@given(st.integers(1, 8), st.lists(outcomes, max_size=12))
def test_an_address_is_free_with_the_first_confirmation_of_a_revision_without_it(
    leaving: int, reports: list[Applied]
) -> None:
    state = replace(NEW, revision=8, vip_leaving_revision=leaving)
    for report in reports:
        change = apply_report(state, report)
        let_go = not report.error and report.revision >= leaving and report.revision >= state.applied_revision
        if state.vip_leaving_revision is None or not let_go:
            assert change is None or not change.vip_left
        else:
            assert change is not None
            assert change.vip_left and change.now.vip_leaving_revision is None
        state = state if change is None else change.now
