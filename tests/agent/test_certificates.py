"""What devices lack of certificates is fetched once, sealed, given to them in the same pass, and kept nowhere."""

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace

from evenkeel.agent import certificates as room
from evenkeel.core.devices.service import ServiceCertificate
from evenkeel.core.kit.errors import CallRefused, CallTimeout, SessionLost
from evenkeel.core.protocol import messages as m
from evenkeel.core.tls.certificates import CertificateContent, CertificateKind, PrivateKey
from evenkeel.sealing import BoxKeyPair
from tests.agent.fakes import Bench
from tests.clock import HandClock
from tests.waiting import eventually


def named(reference: str, content: str = "") -> ServiceCertificate:
    return ServiceCertificate(
        reference=reference, kind=CertificateKind.CERTIFICATE, sha256=content or f"of {reference}"
    )


def content(sha256: str) -> CertificateContent:
    return CertificateContent(
        kind=CertificateKind.CERTIFICATE, sha256=sha256, certificates=("pem",), private_key=PrivateKey(b"key")
    )


def bench_of(references: dict[str, tuple[ServiceCertificate, ...]]) -> Bench:
    made = Bench(dict.fromkeys(references, 1), work=tuple(references))
    made.controllers.references = references
    every = {one.sha256 for ones in references.values() for one in ones}
    made.controllers.contents = {sha256: content(sha256) for sha256 in every}
    return made


@asynccontextmanager
async def running(bench: Bench) -> AsyncIterator[None]:
    task = asyncio.create_task(bench.worker.run())
    try:
        yield
    finally:
        bench.device.open.set()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def applied(bench: Bench, *load_balancers: str) -> None:
    await eventually(lambda: all(bench.controllers.applied(one) == 1 for one in load_balancers))


async def test_certificate_on_the_device_is_not_requested() -> None:
    bench = bench_of({"lb-1": (named("a"),)})
    bench.device.held = {"of a"}
    async with running(bench):
        await applied(bench, "lb-1")
    assert bench.controllers.certificate_calls == []


async def test_only_missing_certificates_are_fetched_and_applied() -> None:
    bench = bench_of({"lb-1": (named("a"), named("b")), "lb-2": ()})
    bench.device.held = {"of b"}
    async with running(bench):
        await applied(bench, "lb-1", "lb-2")
    first, second = bench.device.batches
    assert first.complete and first.certificates == {}
    assert [one.load_balancer_id for one in second.services] == ["lb-1"] and not second.complete
    assert second.certificates == {"of a": content("of a")}
    assert not any(report.error for report in bench.controllers.reports)
    (call,) = bench.controllers.certificate_calls
    assert (call.shard_id, call.epoch, call.takes_parts) == (bench.worker.shard_id, 3, True)
    assert call.wanted == (
        m.WantedCertificate(load_balancer_id="lb-1", reference="a", kind=CertificateKind.CERTIFICATE, sha256="of a"),
    )


async def test_each_content_is_requested_once_in_calls_of_bounded_size() -> None:
    shared = named("shared")
    bench = bench_of({f"lb-{n}": (shared, named(f"own-{n}")) for n in range(m.CERTIFICATES_PER_CALL + 5)})
    async with running(bench):
        await applied(bench, *bench.controllers.references)
    asked = [one.sha256 for call in bench.controllers.certificate_calls for one in call.wanted]
    assert len(asked) == len(set(asked)) == m.CERTIFICATES_PER_CALL + 6
    assert len(bench.controllers.certificate_calls) == 2


async def test_certificates_beyond_one_pass_follow_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "CONTENTS_PER_PASS", 3)
    bench = bench_of({f"lb-{n}": (named(f"a{n}"), named(f"b{n}")) for n in range(4)} | {"lb-9": (named("x"),)})
    async with running(bench):
        await applied(bench, *bench.controllers.references)
    assert all(len(batch.certificates) <= 3 for batch in bench.device.batches)
    assert not any(report.error for report in bench.controllers.reports)


async def test_a_load_balancer_with_more_contents_than_a_pass_takes_is_served(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "CONTENTS_PER_PASS", 3)
    bench = bench_of({"lb-1": tuple(named(f"a{n}") for n in range(7))})
    async with running(bench):
        await applied(bench, "lb-1")


async def test_as_long_as_contents_come_it_is_gone_on_however_many_there_are() -> None:
    bench = bench_of({"lb-1": tuple(named(f"a{n}") for n in range(10 * m.CERTIFICATES_PER_CALL))})
    answer, clock = bench.controllers.certificates, HandClock()
    bench.worker._reconciler._certificates._clock = clock

    async def slow(call: m.GetCertificates) -> m.Certificates:
        clock.now += room.FETCH_SECONDS_MAX / 2
        return await answer(call)

    bench.controllers.certificates = slow  # type: ignore[method-assign]
    async with running(bench):
        await applied(bench, "lb-1")
    assert len(bench.controllers.certificate_calls) == 10


async def test_others_get_their_turn_when_no_more_certificates_come() -> None:
    bench = bench_of({"lb-1": (named("a"),)})
    clock = HandClock()
    bench.worker._reconciler._certificates._clock = clock

    async def busy(call: m.GetCertificates) -> m.Certificates:
        clock.now += room.FETCH_SECONDS_MAX / 2
        raise CallRefused("busy", "others first", retry_after_seconds=0.0)

    bench.controllers.certificates = busy  # type: ignore[method-assign]
    async with running(bench):
        await eventually(lambda: any(report.waiting for report in bench.controllers.reports))
    assert "certificates were not given within 60 s" in bench.controllers.reports[0].error


async def test_others_are_reported_before_anything_is_fetched() -> None:
    bench = bench_of({"lb-1": (named("a"),), "lb-2": ()})
    bench.controllers.certificate_failures = [CallTimeout("no answer")] * 1000
    async with running(bench):
        await applied(bench, "lb-2")
        await eventually(lambda: any(report.load_balancer_id == "lb-1" for report in bench.controllers.reports))
        told = [report for report in bench.controllers.reports if report.load_balancer_id == "lb-1"]
        assert all(report.waiting and "certificates were not given: no answer" in report.error for report in told)
        bench.controllers.certificate_failures = []
        await applied(bench, "lb-1")
    told = [report for report in bench.controllers.reports if report.waiting]
    assert len(told) == 1, "a reason that has not changed is told once"


async def test_unreadable_certificate_is_the_error_of_its_load_balancers_only() -> None:
    bench = bench_of({"lb-1": (named("a"), named("b")), "lb-2": (named("b"),)})
    del bench.controllers.contents["of a"]
    async with running(bench):
        await applied(bench, "lb-2")
        await eventually(lambda: any(report.error for report in bench.controllers.reports))
        assert {(report.load_balancer_id, report.error) for report in bench.controllers.reports if report.error} == {
            ("lb-1", "a: gone")
        }
        bench.controllers.contents["of a"] = content("of a")
        await applied(bench, "lb-1")


async def test_content_that_is_refused_by_one_reference_is_requested_by_another() -> None:
    bench = bench_of({"lb-1": (named("a", "same"),), "lb-2": (named("b", "same"),)})
    answer = bench.controllers.certificates

    async def not_by_a(call: m.GetCertificates) -> m.Certificates:
        if call.wanted[0].reference == "a":
            return m.Certificates(problems={"same": "a: gone"})
        return await answer(call)

    bench.controllers.certificates = not_by_a  # type: ignore[method-assign]
    async with running(bench):
        await applied(bench, "lb-1", "lb-2")


@pytest.mark.parametrize("spoiled", ["for another process", "for another content", "of another kind", "not there"])
async def test_a_box_that_is_not_what_was_requested_is_given_to_no_device(spoiled: str) -> None:
    bench = bench_of({"lb-1": (named("a"),)})
    answer = bench.controllers.certificates

    async def wrong(call: m.GetCertificates) -> m.Certificates:
        if spoiled == "for another process":
            bench.controllers.sealing_key = BoxKeyPair().public_key
        if spoiled == "of another kind":
            bench.controllers.contents["of a"] = replace(content("of a"), kind=CertificateKind.AUTHORITY)
        found = await answer(call)
        if spoiled == "for another content":
            bench.controllers.contents["of b"] = content("of b")
            of_b = await answer(replace(call, wanted=(replace(call.wanted[0], sha256="of b"),)))
            return m.Certificates(sealed={"of a": of_b.sealed["of b"]})
        return m.Certificates() if spoiled == "not there" else found

    bench.controllers.certificates = wrong  # type: ignore[method-assign]
    async with running(bench):
        await eventually(lambda: any(report.error for report in bench.controllers.reports))
    assert all(batch.certificates == {} for batch in bench.device.batches)
    assert all(report.error.startswith("a: ") for report in bench.controllers.reports)


async def test_controllers_that_are_busy_are_queried_again() -> None:
    bench = bench_of({"lb-1": (named("a"),)})
    bench.controllers.certificate_failures = [CallRefused("busy", "others first", retry_after_seconds=0.01)] * 2
    async with running(bench):
        await applied(bench, "lb-1")
    assert len(bench.device.batches) == 2
    assert not any(report.error for report in bench.controllers.reports)


async def test_a_shard_that_is_lost_meanwhile_gets_nothing_on_its_devices() -> None:
    bench = bench_of({"lb-1": (named("a"),)})
    bench.controllers.certificate_failures = [SessionLost("another agent's")]
    async with running(bench):
        await eventually(lambda: bench.worker.lost)
    assert len(bench.device.batches) == 1


async def test_nothing_is_written_if_the_lease_ran_short_meanwhile() -> None:
    bench = bench_of({"lb-1": (named("a"),)})
    answer = bench.controllers.certificates

    async def slow(call: m.GetCertificates) -> m.Certificates:
        bench.session.lease_stands = False
        return await answer(call)

    bench.controllers.certificates = slow  # type: ignore[method-assign]
    async with running(bench):
        await eventually(lambda: not bench.session.lease_stands)
        await asyncio.sleep(0)
        bench.controllers.certificates = answer  # type: ignore[method-assign]
        assert len(bench.device.batches) == 1
        bench.session.lease_stands = True
        await applied(bench, "lb-1")


async def test_slow_key_manager_delays_no_other_pass() -> None:
    bench = bench_of({"lb-1": (named("a"),)})
    answer, asked, answered = bench.controllers.certificates, asyncio.Event(), asyncio.Event()

    async def slow(call: m.GetCertificates) -> m.Certificates:
        asked.set()
        await answered.wait()
        return await answer(call)

    bench.controllers.certificates = slow  # type: ignore[method-assign]
    async with running(bench):
        await asked.wait()
        async with asyncio.timeout(60), bench.worker._pass_limit.hold_slot("another"):  # one pass at a time is allowed
            answered.set()
        await applied(bench, "lb-1")


ONLY_HERE = b"the key of this test alone"


def keys_like(content: bytes) -> list[PrivateKey]:
    """In all of this process's memory."""
    return [one for one in gc.get_objects() if isinstance(one, PrivateKey) and one.reveal() == content]


async def test_no_key_is_kept_after_the_pass() -> None:
    bench = bench_of({"lb-1": (named("a"),)})
    bench.controllers.contents["of a"] = replace(content("of a"), private_key=PrivateKey(ONLY_HERE))
    async with running(bench):
        await applied(bench, "lb-1")
        bench.device.batches.clear()
        bench.controllers.contents.clear()
        bench.worker.add_hinted_work(("lb-1",))
        reports = len(bench.controllers.reports)
        await eventually(lambda: len(bench.controllers.reports) > reports)
        gc.collect()
        assert not keys_like(ONLY_HERE)
        kept = PrivateKey(ONLY_HERE)
        assert keys_like(ONLY_HERE) == [kept], "they are seen here"
