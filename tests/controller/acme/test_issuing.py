"""A requested certificate becomes an issued one, whatever is interrupted, and failures are told in words."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from evenkeel.controller.acme.keys import AcmeKeys
from evenkeel.core.kit.errors import (
    AcmeAuthorityUnavailable,
    AcmeOrderUnknown,
    AcmeRateLimited,
    AcmeRequestRefused,
    DnsResolverUnavailable,
    StoreUnavailable,
)
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.tls.acme.caa import CaaRecord
from evenkeel.core.tls.acme.values import ACME_PROJECT, AcmeProgress, AcmeState, AcmeStep, OrderStatus, RenewalWindow
from evenkeel.metrics.controller import ACME_RESULTS
from tests.controller.acme.world import ADDRESS, LOAD_BALANCER, NOW, Killed, World, target

OPERATOR_ACTION_EFFECTS = 60
"""More effects than an order has."""


@pytest.fixture
def world() -> World:
    return World()


async def issue(world: World) -> None:
    """Let one controller work until the certificate is issued."""
    controller = world.controller()
    while world.progress.state is not AcmeState.ISSUED:
        await controller.process_due()


async def test_a_request_becomes_an_issued_certificate_and_nothing_of_the_order_is_left(world: World) -> None:
    await issue(world)
    assert world.progress == AcmeProgress(
        state=AcmeState.ISSUED, not_after=NOW + 90 * 86_400, renew_at=NOW + 60 * 86_400
    )
    assert world.stored is not None and world.stored.startswith(b"chain key ")
    assert world.database.challenges == {} and len(world.authority.orders) == 1
    assert [project for project, _ in world.keys.contents] == [ACME_PROJECT, "p1"]
    assert len(world.driver.accepts) == 2 and world.database.told == ["certificate_issued"]


@pytest.mark.parametrize("failure", [AcmeRequestRefused("no such certificate"), AcmeAuthorityUnavailable("it is away")])
async def test_a_certificate_whose_renewal_information_cannot_be_read_is_issued(
    world: World, failure: Exception
) -> None:
    world.authority.window_failure = failure
    await issue(world)
    assert world.progress.renew_at == NOW + 60 * 86_400
    assert world.stored is not None and world.database.told == ["certificate_issued"]


async def test_a_controller_whose_turn_another_one_has_taken_does_no_further_step(world: World) -> None:
    controller = world.controller()
    ordered = world.authority.order

    async def order_while_another_takes_over(*values: Any, **named: Any) -> Any:
        await world.database.take_due_certificates(limit=1, lease_seconds=1.0)
        return await ordered(*values, **named)

    world.authority.order = order_while_another_takes_over  # type: ignore[method-assign]
    await controller.process_due()
    assert len(world.authority.orders) == 1
    assert world.progress == AcmeProgress() and world.database.challenges == {}


@pytest.mark.parametrize("before", [True, False])
async def test_a_controller_killed_at_any_effect_leaves_an_order_that_another_one_finishes(before: bool) -> None:
    for number in range(1, OPERATOR_ACTION_EFFECTS):
        world = World()
        world.effects.kill_at, world.effects.before = number, before
        try:
            await issue(world)
            assert number > world.effects.done  # nothing was left to interrupt
            break
        except Killed:
            pass
        lost = (
            len(world.authority.orders) == 1
            and not world.progress.order_url
            and world.progress.state is AcmeState.WAITING
        )
        await issue(world)
        assert world.stored is not None and world.database.told == ["certificate_issued"], number
        # Only the order whose URL was not stored yet is made a second time.
        assert len(world.authority.orders) == (2 if lost else 1), number
        assert world.database.challenges == {} and len(world.authority.accounts) == 1, number
    else:
        pytest.fail("an order has more effects than expected")


@pytest.mark.parametrize(
    ("names", "targets", "reason"),
    [
        ({}, (target(),), "www.example.org has no address in the DNS."),
        ({"www.example.org": ("203.0.113.9",)}, (target(),), "203.0.113.9, which is no VIP"),
        ({"www.example.org": (ADDRESS, "2001:db8::9")}, (target(),), "2001:db8::9, which is no VIP"),
        ({"www.example.org": (ADDRESS,)}, (), "of the project, and no floating IP of one"),
        ({"www.example.org": (ADDRESS,)}, (target(environment="f5"),), "(bigip) do not answer challenges"),
        ({"www.example.org": (ADDRESS,)}, (target(environment="gone"),), "do not answer challenges"),
        ({"www.example.org": (ADDRESS,)}, (target(has_http_listener=False),), "disabled or of another protocol"),
        ({"www.example.org": (ADDRESS,)}, (target(admin_state_up=False),), "which is disabled"),
        ({"www.example.org": (ADDRESS,)}, (target(placed=False),), "not on a device yet"),
        ({"www.example.org": (ADDRESS,)}, (target(mirrored=True),), "only another system changes"),
    ],
)
async def test_a_name_that_cannot_be_proven_waits_with_the_reason_and_nothing_is_ordered(
    world: World, names: dict[str, tuple[str, ...]], targets: tuple[object, ...], reason: str
) -> None:
    world.resolver.found = names
    world.database.targets_found = targets  # type: ignore[assignment]
    await world.controller().process_due()
    assert world.progress.state is AcmeState.WAITING and reason in world.progress.problem
    assert world.authority.orders == [] and world.keys.contents == {}


async def test_a_load_balancer_without_a_listener_on_port_80_can_prove_names(world: World) -> None:
    world.database.targets_found = (target(has_http_listener=False, port_taken=False),)
    await issue(world)


async def test_a_name_that_resolves_to_a_floating_ip_of_the_vip_is_proven(world: World) -> None:
    world.resolver.found = {"www.example.org": ("198.51.100.7",)}
    world.network.add("198.51.100.7")
    await issue(world)


@pytest.mark.parametrize(
    "floating",
    [
        {"project": "p2"},
        {"port": "another-port"},
        {"fixed": "192.0.2.99"},
        {"fixed": None, "port": None},
        {"address": "198.51.100.8"},
    ],
    ids=["of_another_project", "of_another_port", "of_another_address", "of_nothing", "another_one"],
)
async def test_a_name_that_resolves_to_another_floating_ip_waits(world: World, floating: dict[str, Any]) -> None:
    world.resolver.found = {"www.example.org": ("198.51.100.7",)}
    world.network.add(**{"address": "198.51.100.7", **floating})
    await world.controller().process_due()
    assert "198.51.100.7, which is no VIP" in world.progress.problem and world.authority.orders == []


async def test_no_order_is_made_while_as_many_as_allowed_are_open(world: World) -> None:
    world.database.open_orders = 50
    await world.controller().process_due()
    assert "50 other orders are open" in world.progress.problem and world.authority.orders == []


async def test_challenges_are_answered_only_once_devices_have_them(world: World) -> None:
    world.database.applied = False
    controller = world.controller()
    await controller.process_due()
    await controller.process_due()
    assert world.progress.step is AcmeStep.PLACE and LOAD_BALANCER in world.progress.problem
    assert world.authority.orders[0].authorizations[0].unanswered
    world.database.applied = True
    await issue(world)


async def test_a_refused_validation_is_told_in_words_and_cleaned_up(world: World) -> None:
    controller = world.controller()
    world.database.applied = False
    await controller.process_due()
    world.authority.refuse("404")
    await controller.process_due()
    assert (world.progress.state, world.progress.problem) == (AcmeState.FAILED, "www.example.org: 404")
    assert world.database.challenges == {} and world.database.told == ["certificate_failed"]


async def test_a_strangers_certificate_is_not_stored_and_the_old_one_stays(world: World) -> None:
    world.keys.contents["p1", "www"] = b"old"
    world.authority.download_failure = AcmeRequestRefused("it is of another key", retry_after_seconds=9.0)
    controller = world.controller()
    while world.progress.state is not AcmeState.FAILED:
        await controller.process_due()
    assert world.stored == b"old" and "another key" in world.progress.problem
    assert world.database.challenges == {}


async def test_a_name_that_was_not_ordered_is_not_validated(world: World) -> None:
    world.authority.asks_for = "stranger.example.org"
    await world.controller().process_due()
    assert "stranger.example.org, which was not ordered" in world.progress.problem
    assert world.progress.state is AcmeState.FAILED and world.driver.accepts == []


@pytest.mark.parametrize("error", [AcmeAuthorityUnavailable("it is away"), DnsResolverUnavailable("it is away")])
async def test_an_outage_changes_nothing_and_is_shown(world: World, error: Exception) -> None:
    if isinstance(error, DnsResolverUnavailable):
        world.resolver.failure = error
    else:
        world.authority.failure = error
    await world.controller().process_due()
    assert (world.progress.state, world.progress.problem) == (AcmeState.WAITING, "it is away")
    world.authority.failure = world.resolver.failure = None
    await issue(world)


async def test_an_unknown_order_is_made_again(world: World) -> None:
    world.database.applied = False
    controller = world.controller()
    await controller.process_due()
    world.authority.failure = AcmeOrderUnknown("not known")
    await controller.process_due()
    assert world.progress.step is AcmeStep.CHECK and world.database.challenges == {}
    world.authority.failure, world.database.applied = None, True
    await issue(world)
    assert len(world.authority.orders) == 2


async def test_an_unreachable_database_ends_the_round(world: World) -> None:
    world.authority.failure = StoreUnavailable("away")
    with pytest.raises(StoreUnavailable):
        await world.controller().process_due()


async def test_a_deleted_request_leaves_neither_challenges_nor_keys(world: World) -> None:
    world.database.applied = False
    controller = world.controller()
    await controller.process_due()
    assert world.database.challenges and world.database.certificate is not None
    leaving = AcmeProgress(step=AcmeStep.REMOVE)
    world.database.certificate = replace(world.database.certificate, progress=leaving)
    await controller.process_due()
    assert world.database.certificate is None and world.database.challenges == {}
    assert ("_evenkeel-acme", "c-1") not in world.keys.contents


def keys_of(world: World) -> AcmeKeys:
    return AcmeKeys(world.keys, world.keys, world.keys)  # type: ignore[arg-type]


async def test_controllers_that_make_an_account_key_at_once_end_with_one(world: World) -> None:
    found = await asyncio.gather(*(keys_of(world).account_key("https://ca.example/directory") for _ in range(5)))
    assert len({key.reveal() for key in found}) == 1
    assert (await keys_of(world).account_key("https://other.example/directory")) not in found


async def test_a_certificate_of_an_authority_that_is_not_configured_any_more_waits_with_the_reason(
    world: World,
) -> None:
    assert world.database.certificate is not None
    world.database.certificate = replace(world.database.certificate, authority="former")
    await world.controller().process_due()
    assert (world.progress.state, world.progress.problem) == (
        AcmeState.WAITING,
        "The authority former is not configured.",
    )
    assert world.authority.orders == []


async def test_an_order_that_became_invalid_by_a_failed_request_is_told_with_that_reason(world: World) -> None:
    controller = world.controller()
    world.database.applied = False
    await controller.process_due()
    world.authority.failure = AcmeAuthorityUnavailable("enrollment failed")
    await controller.process_due()
    world.authority.failure = None
    world.authority.orders[0] = replace(world.authority.orders[0], status=OrderStatus.INVALID)
    await controller.process_due()
    assert (world.progress.state, world.progress.problem) == (AcmeState.FAILED, "enrollment failed")


async def test_a_certificate_requested_by_a_reference_is_read_by_it_and_deleted_with_it(world: World) -> None:
    assert world.database.certificate is not None
    reference = "acme://www.example.org"
    world.database.certificate = replace(world.database.certificate, reference=reference)
    await issue(world)
    assert world.database.checked == ["directory://p1/www", reference, f"{reference}?self_signed"]
    world.database.certificate = replace(
        world.database.certificate, progress=replace(world.progress, step=AcmeStep.REMOVE)
    )
    await world.controller().process_due()
    assert world.database.certificate is None and world.stored is None


async def test_listeners_that_wait_for_a_certificate_are_told_of_each_step_until_it_is_issued(world: World) -> None:
    assert world.database.certificate is not None
    world.database.certificate = replace(world.database.certificate, reference="acme://www.example.org")
    world.database.targets_found = ()
    await world.controller().process_due()
    assert world.database.awaited[-1][0] is AcmeStep.CHECK and "no VIP" in world.database.awaited[-1][1]
    world.database.targets_found = (target(),)
    await issue(world)
    told = len(world.database.awaited)
    await world.controller().process_due()
    assert world.progress.not_after is not None and len(world.database.awaited) == told


WINDOW = RenewalWindow(start=NOW + 86_400, end=NOW + 2 * 86_400, retry_after_seconds=3600.0)


async def test_a_suggested_renewal_replaces_the_certificate_by_its_identifier(world: World) -> None:
    world.authority.window = WINDOW
    await issue(world)
    assert (world.progress.step, world.progress.renew_at) == (AcmeStep.RENEWAL, WINDOW.start)
    # the authority wants it now, for it has revoked the certificate
    world.authority.window = replace(WINDOW, start=NOW - 2.0, end=NOW - 1.0)
    await world.controller().process_due()
    assert world.authority.replaced == ["", "aki.1"]


@pytest.mark.parametrize("failure", [AcmeAuthorityUnavailable("down"), AcmeRequestRefused("gone")])
async def test_renewal_information_that_cannot_be_read_makes_no_order(world: World, failure: Exception) -> None:
    world.authority.window = WINDOW
    await issue(world)
    world.authority.failure = failure
    await world.controller().process_due()
    assert (world.progress.step, world.progress.state, world.progress.failures) == (
        AcmeStep.RENEWAL,
        AcmeState.ISSUED,
        0,
    )
    assert world.progress.problem == str(failure) and len(world.authority.orders) == 1


async def test_an_authority_without_renewal_information_any_more_leaves_the_time_that_is_known(world: World) -> None:
    world.authority.window = WINDOW
    await issue(world)
    world.authority.window = None
    await world.controller().process_due()
    assert (world.progress.step, world.progress.renew_at) == (AcmeStep.RENEWAL, WINDOW.start)


async def revoke(world: World) -> None:
    assert world.database.certificate is not None
    progress = replace(world.progress, step=AcmeStep.REVOKE, revocation="keyCompromise")
    world.database.certificate = replace(world.database.certificate, progress=progress)
    await world.controller().process_due()


async def test_a_revoked_certificate_is_replaced_by_another_one_with_another_key(world: World) -> None:
    await issue(world)
    before = world.stored
    await revoke(world)
    await issue(world)
    assert world.authority.revoked == [1] and world.stored != before
    assert world.database.told == ["certificate_issued", "certificate_revoked", "certificate_issued"]


async def test_a_refused_revocation_is_told_and_leaves_the_certificate(world: World) -> None:
    await issue(world)
    world.authority.revocation_failure = AcmeRequestRefused("not yours")
    await revoke(world)
    assert (world.progress.step, world.progress.state, world.progress.problem) == (
        AcmeStep.CHECK,
        AcmeState.ISSUED,
        "not yours",
    )
    assert world.database.told[-1] == "certificate_revocation_failed" and len(world.authority.orders) == 1


async def test_caa_records_that_do_not_name_the_authority_keep_it_from_an_order(world: World) -> None:
    world.resolver.authorizations = {"example.org": (CaaRecord(0, "issue", "other.example"),)}
    controller = world.controller()
    await controller.process_due()
    assert world.progress.state is AcmeState.WAITING and world.authority.orders == []
    assert "CAA records of example.org do not allow a certificate for www.example.org" in world.progress.problem
    # those of the name itself count, and not its parent's
    world.resolver.authorizations["www.example.org"] = (CaaRecord(0, "issue", "ca.example"),)
    await issue(world)
    assert len(world.authority.orders) == 1


async def test_a_failed_renewal_is_counted_apart_from_a_failed_first_order(world: World) -> None:
    def counted(result: str) -> float:
        return ACME_RESULTS.labels(result)._value.get()

    before = counted("failed"), counted("renewal_failed")
    world.database.applied = False
    await world.controller().process_due()
    world.authority.refuse("404")
    await world.controller().process_due()
    assert (counted("failed"), counted("renewal_failed")) == (before[0] + 1, before[1])
    world.database.certificate = replace(
        world.database.certificate, progress=replace(world.progress, step=AcmeStep.CHECK, not_after=NOW + 86_400)
    )
    world.authority.failure = AcmeRequestRefused("rate limited")
    await world.controller().process_due()
    assert (counted("failed"), counted("renewal_failed")) == (before[0] + 1, before[1] + 1)
    assert world.progress.state is AcmeState.ISSUED


async def test_no_order_is_made_while_an_authority_refuses_those_of_several_projects_by_its_rate_limit(
    world: World,
) -> None:
    before = ACME_RESULTS.labels("rate_limited")._value.get()
    world.authority.order_failure = AcmeRateLimited("too many orders", retry_after_seconds=600.0)
    controller = world.controller()
    for project in ("p1", "p2", "p3"):
        world.database.certificate = replace(
            world.database.certificate, project_id=ProjectId(project), progress=AcmeProgress()
        )
        await controller.process_due()
    assert len(world.authority.attempts) == 2
    assert ACME_RESULTS.labels("rate_limited")._value.get() == before + 2
    assert world.progress.state is AcmeState.WAITING
    assert "The authority has refused orders of several projects because of its rate limits" in world.progress.problem
    world.authority.order_failure = None
    world.clock += 601.0
    await issue(world)
