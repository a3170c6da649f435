"""Listeners wait for requested certificates, while everything else of their load balancers is applied."""

from typing import Any

import pytest
from msgspec.structs import replace

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.errors import Conflict
from evenkeel.core.resources.model import Listener, LoadBalancer
from evenkeel.core.tls.acme.progress import AdvancedProgress
from evenkeel.core.tls.acme.values import AcmeCertificate, AcmeProgress, AcmeState, AcmeStep
from evenkeel.core.tls.certificates import (
    CheckedCertificate,
    DueCertificate,
    ReferenceQuery,
    certificate_awaiting_issue,
)
from evenkeel.store.records import schema
from evenkeel.store.renewals import contents
from tests.store.acme.test_certificates import new, taken
from tests.store.builders import FACTS
from tests.store.ownership_world import World, applied, world_fixture

__all__ = ["world_fixture"]

REFERENCE = "acme://www.example.org,example.org"
ISSUED = CheckedCertificate(
    reference=REFERENCE, kind=certificate_awaiting_issue(REFERENCE).kind, sha256="b" * 64, facts=FACTS
)
UNPROVEN = "www.example.org has no address in the DNS."
AWAITED_SECONDS = 3600.0


async def add_listener(world: World, root: LoadBalancer, reference: str = REFERENCE, **values: Any) -> Listener:
    """A listener with the reference, stored as the API stores it while nothing is issued."""
    row = Listener(
        id=f"tls-{root.id}"[:36],
        load_balancer_id=root.id,
        project_id=root.project_id,
        protocol="TERMINATED_HTTPS",
        protocol_port=443,
        **{"default_tls_container_ref": reference, **values},
    )
    await world.store.tenants.add_listener(row, certificates=[certificate_awaiting_issue(reference)], project_id=None)
    return row


async def waiting(world: World) -> tuple[LoadBalancer, Listener]:
    """A placed load balancer whose listener waits, after the report of its agent."""
    await world.store.acme.store_request(new(reference=REFERENCE))
    await world.agent("a1")
    root = await world.placed()
    await world.tree(root)
    row = await add_listener(world, root)
    await report_newest(world, root)
    return root, row


async def report_newest(world: World, root: LoadBalancer, error: str = "") -> None:
    newest = (await world.load_balancer_row(root.id)).revision
    await world.report(applied(root.id, newest, error))


async def statuses(world: World, root: LoadBalancer, row: Listener) -> tuple[str, str, str]:
    """Provisioning statuses of load balancer and listener, and the listener's operating status."""
    stored = await world.row(schema.listener, row.id)
    status = (await world.load_balancer_row(root.id)).provisioning_status
    return status, stored.provisioning_status, stored.operating_status


async def definition(world: World, root: LoadBalancer) -> ServiceDefinition:
    shard = await world.shard_of(root.project_id)
    found = await world.store.ownership.services(
        "a1", "session-of-a1", shard.id, shard.epoch, load_balancer_ids=[root.id], after_id="", limit=9
    )
    (service,) = found.page.services
    return service


async def due(world: World) -> DueCertificate:
    (one,) = await world.store.renewals.take_due_certificates(limit=10)
    return one


async def note(world: World, certificate: AcmeCertificate, progress: AcmeProgress, delay_seconds: float = 5.0) -> None:
    """A controller has taken a step."""
    await world.store.acme.store_progress(certificate, AdvancedProgress(progress, delay_seconds), lease_seconds=60.0)
    await world.store.acme.set_awaiting_problem(certificate, awaited_seconds=AWAITED_SECONDS)


@pytest.mark.parametrize(
    "references",
    [{}, {"default_tls_container_ref": "other", "sni_container_refs": (REFERENCE,)}],
    ids=["default", "by SNI"],
)
async def test_a_listener_waits_while_its_load_balancer_is_active_and_can_be_changed(
    world: World, references: dict[str, Any]
) -> None:
    await world.store.acme.store_request(new(reference=REFERENCE))
    await world.agent("a1")
    root = await world.placed()
    ids = await world.tree(root)
    row = await add_listener(world, root, **references)
    await report_newest(world, root)
    assert await statuses(world, root, row) == ("ACTIVE", "PENDING_CREATE", "OFFLINE")
    service = await definition(world, root)
    assert [each.id for each in service.listeners] == [ids["listener"]] and service.certificates == ()
    await world.store.tenants.update_child(Listener, row.id, {"name": "n"}, project_id=None)
    await report_newest(world, root)
    assert await statuses(world, root, row) == ("ACTIVE", "PENDING_CREATE", "OFFLINE")


async def test_an_issued_certificate_creates_the_listener_by_a_new_revision(world: World) -> None:
    root, row = await waiting(world)
    before = (await world.load_balancer_row(root.id)).revision
    (change,) = await world.store.renewals.record_content(await due(world), ISSUED)
    assert change.revision == before + 1
    assert row.id in {each.id for each in (await definition(world, root)).listeners}
    # a late report about the devices before
    await world.report(applied(root.id, before))
    assert (await statuses(world, root, row))[1:] == ("PENDING_CREATE", "OFFLINE")
    await report_newest(world, root)
    assert await statuses(world, root, row) == ("ACTIVE", "ACTIVE", "ONLINE")


async def test_content_that_is_not_there_yet_is_no_unreadable_certificate(world: World) -> None:
    root, row = await waiting(world)
    await world.store.renewals.record_read_problem(await due(world), "not found")
    assert await world.operator.references(ReferenceQuery(unreadable=True), limit=9) == ()
    assert await world.events("certificate_unreadable") == []
    await report_newest(world, root)
    assert (await statuses(world, root, row))[1] == "PENDING_CREATE"


async def test_a_failed_order_puts_the_listener_into_error_until_one_is_issued(world: World) -> None:
    root, row = await waiting(world)
    certificate = await taken(world)
    await note(world, certificate, AcmeProgress(problem=UNPROVEN, waits=1))
    assert (await statuses(world, root, row))[1] == "PENDING_CREATE"
    await note(world, certificate, AcmeProgress(state=AcmeState.FAILED, problem="refused", failures=1), 300.0)
    assert await statuses(world, root, row) == ("ACTIVE", "ERROR", "OFFLINE")
    # a change of something else does not make it look better
    await world.tenant_changes(root.id)
    await report_newest(world, root)
    assert await statuses(world, root, row) == ("ACTIVE", "ERROR", "OFFLINE")
    await world.store.renewals.record_content(await due(world), ISSUED)
    await report_newest(world, root)
    assert await statuses(world, root, row) == ("ACTIVE", "ACTIVE", "ONLINE")
    assert await world.events("certificate_readable") == []


async def test_waiting_ends_in_error_before_a_step_that_comes_too_late(world: World) -> None:
    root, row = await waiting(world)
    certificate = await taken(world)
    await note(world, certificate, AcmeProgress(problem=UNPROVEN, waits=9), AWAITED_SECONDS + 60.0)
    assert (await statuses(world, root, row))[1] == "ERROR"
    (found,) = await world.operator.references(ReferenceQuery(load_balancer_id=root.id), limit=9)
    assert found.problem == f"Not issued within 3600 s. {UNPROVEN}"
    await note(world, certificate, AcmeProgress(problem=f"{UNPROVEN} Still.", waits=10), AWAITED_SECONDS + 60.0)
    told = f"listeners that wait for certificate {REFERENCE} are in ERROR: Not issued within 3600 s. {UNPROVEN}"
    events = await world.events("certificate_missing")
    assert [(each.load_balancer_id, each.text) for each in events] == [(root.id, told)]
    # a new listener with the reference begins the time anew
    await world.store.acme.mark_used(root.project_id, certificate.name)
    await note(world, certificate, AcmeProgress(problem=UNPROVEN, waits=10))
    assert (await statuses(world, root, row))[1] == "PENDING_CREATE"


async def test_a_deleted_request_puts_its_listeners_into_error(world: World) -> None:
    root, row = await waiting(world)
    certificate = await taken(world)
    await world.store.acme.request_removal(root.project_id, certificate.name)
    await world.store.acme.set_awaiting_problem(certificate, awaited_seconds=AWAITED_SECONDS)
    assert (await statuses(world, root, row))[1] == "ERROR"


async def end_overdue(world: World) -> int:
    """What every controller does now and then, one without an authority, too."""
    return await world.store.acme.end_overdue_waits(awaited_seconds=AWAITED_SECONDS, limit=9)


async def make_older(world: World, seconds: float) -> None:
    """The request was made so long ago, and no step was taken since."""
    row = schema.acme_certificate
    older = {"referenced_at": row.c.referenced_at - seconds, "next_attempt_at": row.c.next_attempt_at - seconds}
    await world.db.write(lambda connection: connection.execute(row.update().values(**older)))


async def test_waiting_ends_in_error_although_no_controller_has_an_authority_any_more(world: World) -> None:
    root, row = await waiting(world)
    await make_older(world, AWAITED_SECONDS - 60.0)
    assert await end_overdue(world) == 0
    assert (await statuses(world, root, row))[1] == "PENDING_CREATE"
    await make_older(world, 61.0)
    assert await end_overdue(world) == 1
    assert await statuses(world, root, row) == ("ACTIVE", "ERROR", "OFFLINE")
    (found,) = await world.operator.references(ReferenceQuery(load_balancer_id=root.id), limit=9)
    assert found.problem.startswith("Not issued within 3600 s. No controller takes the next step")
    (request,) = await world.store.acme.list_requested_certificates(root.project_id)
    assert request.progress.problem in found.problem
    assert await end_overdue(world) == 0
    # the authority is configured again
    await world.store.renewals.record_content(await due(world), ISSUED)
    await report_newest(world, root)
    assert await statuses(world, root, row) == ("ACTIVE", "ACTIVE", "ONLINE")
    assert await end_overdue(world) == 0


async def test_waiting_for_steps_that_are_taken_in_vain_ends_with_their_problem(world: World) -> None:
    root, row = await waiting(world)
    await world.store.acme.store_progress(
        await taken(world), AdvancedProgress(AcmeProgress(problem=UNPROVEN, waits=1), 5.0), lease_seconds=60.0
    )
    await make_older(world, AWAITED_SECONDS + 1.0)
    newer = {"next_attempt_at": await world.now() + 5.0}
    await world.db.write(lambda connection: connection.execute(schema.acme_certificate.update().values(**newer)))
    assert await end_overdue(world) == 1
    (found,) = await world.operator.references(ReferenceQuery(load_balancer_id=root.id), limit=9)
    assert found.problem == f"Not issued within 3600 s. {UNPROVEN}"
    assert (await statuses(world, root, row))[1] == "ERROR"


@pytest.mark.parametrize("is_row_there", [True, False])
async def test_waiting_for_a_deleted_request_ends_although_no_controller_removes_it(
    world: World, is_row_there: bool
) -> None:
    root, row = await waiting(world)
    await world.store.acme.request_removal(root.project_id, (await taken(world)).name)
    if not is_row_there:
        await world.db.write(lambda connection: connection.execute(schema.acme_certificate.delete()))
    assert await end_overdue(world) == 1
    (found,) = await world.operator.references(ReferenceQuery(load_balancer_id=root.id), limit=9)
    assert found.problem == "The request for the certificate was deleted."
    assert (await statuses(world, root, row))[1] == "ERROR"


async def test_a_failed_load_balancer_leaves_its_waiting_listener_pending_once_it_is_applied(world: World) -> None:
    root, row = await waiting(world)
    await world.tenant_changes(root.id)
    await report_newest(world, root, "the device refused it")
    assert (await statuses(world, root, row))[:2] == ("ERROR", "ERROR")
    await report_newest(world, root)
    assert (await statuses(world, root, row))[:2] == ("ACTIVE", "PENDING_CREATE")


async def test_a_waiting_listener_can_be_deleted_and_get_another_certificate(world: World) -> None:
    root, row = await waiting(world)
    other = replace(ISSUED, reference="other")
    changes = {"default_tls_container_ref": "other"}
    await world.store.tenants.update_child(Listener, row.id, changes, certificates=[other], project_id=None)
    await report_newest(world, root)
    assert (await statuses(world, root, row))[1] == "ACTIVE"
    await world.store.tenants.delete_child(Listener, row.id, project_id=None)
    await report_newest(world, root)
    assert await world.row(schema.listener, row.id) is None


async def test_a_certificate_that_listeners_serve_is_not_taken_from_them(world: World) -> None:
    root, row = await waiting(world)
    await world.store.renewals.record_content(await due(world), ISSUED)
    other = await world.load_balancer()
    with pytest.raises(Conflict, match="repeat the request"):
        await add_listener(world, other)
    assert row.id in {each.id for each in (await definition(world, root)).listeners}
    # without users it is only what was read once
    await world.db.write(lambda connection: connection.execute(schema.certificate_use.delete()))
    await add_listener(world, other)
    (found,) = await world.rows(schema.certificate)
    assert (found.sha256, found.announced_sha256) == ("", "")
    assert found.next_check_at <= (await world.now())


async def test_all_load_balancers_whose_listeners_wait_get_the_certificate(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, _ = await waiting(world)
    other = await world.placed()
    await add_listener(world, other)
    with monkeypatch.context() as patched:
        # one whose listener is stored just after the others were locked
        patched.setattr(contents, "_lock_load_balancers_using", lambda _connection, _id: [root.id])
        assert await world.store.renewals.record_content(await due(world), ISSUED) == ()
    changes = await world.store.renewals.record_content(await due(world), ISSUED)
    assert {change.load_balancer_id for change in changes} == {root.id, other.id}


@pytest.mark.parametrize("progress", [AcmeProgress(failures=1), AcmeProgress(step=AcmeStep.REMOVE), None])
async def test_no_listener_is_stored_that_would_wait_for_nothing(world: World, progress: AcmeProgress | None) -> None:
    root = await world.load_balancer()
    if progress is not None:
        await world.store.acme.store_request(new(reference=REFERENCE))
        await world.store.acme.store_progress(await taken(world), AdvancedProgress(progress, 5.0), lease_seconds=60.0)
    with pytest.raises(Conflict, match="not being issued any more"):
        await add_listener(world, root)


async def test_a_refusal_names_the_reference_without_the_authority_of_the_flavor(world: World) -> None:
    root = await world.load_balancer()
    stored = "acme://internal@www.example.org"
    with pytest.raises(Conflict, match=r"Certificate acme://www[.]example[.]org is not being issued any more"):
        await add_listener(world, root, stored)


OLD = replace(ISSUED, reference="old", sha256="a" * 64)
OLDER_SNI = replace(ISSUED, reference="sni", sha256="c" * 64)


async def served(world: World) -> tuple[LoadBalancer, Listener]:
    """A listener that serves other certificates, and a request for the new one."""
    await world.store.acme.store_request(new(reference=REFERENCE))
    await world.agent("a1")
    root = await world.placed()
    row = Listener(
        id="served",
        load_balancer_id=root.id,
        project_id=root.project_id,
        protocol="TERMINATED_HTTPS",
        protocol_port=443,
        default_tls_container_ref="old",
        sni_container_refs=("sni",),
    )
    await world.store.tenants.add_listener(row, certificates=[OLD, OLDER_SNI], project_id=None)
    await report_newest(world, root)
    assert await statuses(world, root, row) == ("ACTIVE", "ACTIVE", "ONLINE")
    return root, row


async def change(world: World, row: Listener, *checked: CheckedCertificate, **changes: Any) -> None:
    await world.store.tenants.update_child(Listener, row.id, changes, certificates=checked, project_id=None)


async def references_on_devices(world: World, root: LoadBalancer) -> tuple[str | None, tuple[str, ...]]:
    """References of the listener in the definition, each of which has its certificate there."""
    service = await definition(world, root)
    (row,) = service.listeners
    given = {each.reference for each in service.certificates}
    assert {row.default_tls_container_ref, *row.sni_container_refs} - {None} <= given
    return row.default_tls_container_ref, row.sni_container_refs


async def test_a_changed_listener_serves_what_it_has_until_its_certificate_is_issued(world: World) -> None:
    root, row = await served(world)
    await change(world, row, certificate_awaiting_issue(REFERENCE), default_tls_container_ref=REFERENCE)
    stored: Listener = await world.store.tenants.get(Listener, row.id, project_id=None)
    assert (stored.default_tls_container_ref, stored.provisioning_status) == (REFERENCE, "PENDING_UPDATE")
    assert await references_on_devices(world, root) == ("old", ("sni",))
    await report_newest(world, root)
    assert await statuses(world, root, row) == ("ACTIVE", "PENDING_UPDATE", "ONLINE")
    # the load balancer can be changed as usual, and a renewal of what is served is read
    await change(world, row, name="other")
    await report_newest(world, root)
    assert await statuses(world, root, row) == ("ACTIVE", "PENDING_UPDATE", "ONLINE")
    assert {each.reference for each in await world.operator.references(ReferenceQuery(), limit=9)} == {
        REFERENCE,
        "old",
        "sni",
    }
    before = (await world.load_balancer_row(root.id)).revision
    await world.store.renewals.record_content(await due(world), ISSUED)
    assert await references_on_devices(world, root) == (REFERENCE, ("sni",))
    await world.report(applied(root.id, before))
    assert (await statuses(world, root, row))[1] == "PENDING_UPDATE"
    await report_newest(world, root)
    assert await statuses(world, root, row) == ("ACTIVE", "ACTIVE", "ONLINE")
    assert len(await world.rows(schema.certificate_use)) == 2
    assert (await world.row(schema.listener, row.id)).served_container_refs == "[]"


async def test_a_changed_listener_whose_order_fails_is_in_error_and_online(world: World) -> None:
    root, row = await served(world)
    await change(world, row, certificate_awaiting_issue(REFERENCE), default_tls_container_ref=REFERENCE)
    await report_newest(world, root)
    await note(world, await taken(world), AcmeProgress(state=AcmeState.FAILED, problem="refused", failures=1), 300.0)
    assert await statuses(world, root, row) == ("ACTIVE", "ERROR", "ONLINE")
    await change(world, row, name="other")
    await report_newest(world, root)
    assert await statuses(world, root, row) == ("ACTIVE", "ERROR", "ONLINE")
    assert await references_on_devices(world, root) == ("old", ("sni",))


async def test_a_listener_that_waits_may_return_to_what_it_serves(world: World) -> None:
    root, row = await served(world)
    await change(world, row, certificate_awaiting_issue(REFERENCE), default_tls_container_ref=REFERENCE)
    await change(world, row, OLD, default_tls_container_ref="old", sni_container_refs=())
    assert await references_on_devices(world, root) == ("old", ())
    await report_newest(world, root)
    assert await statuses(world, root, row) == ("ACTIVE", "ACTIVE", "ONLINE")
    assert len(await world.rows(schema.certificate_use)) == 1


async def test_a_listener_that_waits_for_two_certificates_serves_what_it_has_until_both_are_there(world: World) -> None:
    root, row = await served(world)
    other = "acme://other.example.org"
    await world.store.acme.store_request(new("other", reference=other))
    await change(world, row, certificate_awaiting_issue(REFERENCE), default_tls_container_ref=REFERENCE)
    await change(world, row, certificate_awaiting_issue(other), sni_container_refs=(other,))
    found = {each.reference: each for each in await world.store.renewals.take_due_certificates(limit=9)}
    await world.store.renewals.record_content(found[REFERENCE], ISSUED)
    assert await references_on_devices(world, root) == ("old", ("sni",))
    await report_newest(world, root)
    assert await statuses(world, root, row) == ("ACTIVE", "PENDING_UPDATE", "ONLINE")
    await world.store.renewals.record_content(found[other], replace(ISSUED, reference=other))
    assert await references_on_devices(world, root) == (REFERENCE, (other,))
    assert len(await world.rows(schema.certificate_use)) == 2


async def test_a_new_listener_that_waits_and_gets_another_requested_certificate_is_not_on_devices(world: World) -> None:
    root, row = await waiting(world)
    other = "acme://other.example.org"
    await world.store.acme.store_request(new("other", reference=other))
    await change(world, row, certificate_awaiting_issue(other), default_tls_container_ref=other)
    assert row.id not in {each.id for each in (await definition(world, root)).listeners}
