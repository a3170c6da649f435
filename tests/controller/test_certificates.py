"""Agents get what their shard refers to, sealed for their session; whatever cannot be read is a text of its own."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from evenkeel.controller.certificates import BUSY, CertificateCallback
from evenkeel.controller.settings import ControllerSettings
from evenkeel.core.kit.errors import CallRefused, CertificateNotFound, KeyManagerUnavailable, SessionLost
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.protocol import messages as m
from evenkeel.core.tls.certificates import (
    AuthorityBundle,
    CertificateBundle,
    CertificateFacts,
    CertificateKind,
    CertificateReader,
    PrivateKey,
    ReadableCertificate,
    RevocationList,
)
from evenkeel.sealing import BoxContext, BoxKeyPair
from tests.waiting import eventually

CERTIFICATE = CertificateKind.CERTIFICATE
KEYS = BoxKeyPair()
SIX = tuple(f"ref-{letter}" for letter in "abcdef")
FACTS = CertificateFacts(
    subject="CN=a",
    issuer="CN=b",
    common_name="a",
    dns_names=(),
    addresses=(),
    not_before=datetime(2026, 1, 1, tzinfo=UTC),
    not_after=datetime(2027, 1, 1, tzinfo=UTC),
    key_type="ecdsa",
    key_bits=256,
)
PURPOSE = BoxContext(agent_id="a", session_id="s", shard_id="x", epoch=3, sha256="")


def wanted(reference: str, sha256: str = "", kind: CertificateKind = CERTIFICATE) -> m.WantedCertificate:
    return m.WantedCertificate(
        load_balancer_id="lb-1", reference=reference, kind=kind, sha256=sha256 or f"of {reference}"
    )


def call(*ones: m.WantedCertificate, takes_parts: bool = True) -> m.GetCertificates:
    return m.GetCertificates(agent_id="a", session_id="s", shard_id="x", epoch=3, wanted=ones, takes_parts=takes_parts)


class Manager:
    """Has whatever is asked for; can be told to fail, by reference, and to take its time."""

    def __init__(self) -> None:
        self.failures: dict[str, Exception] = {}
        self.asked: list[tuple[str, ProjectId]] = []
        self.open = asyncio.Event()
        self.open.set()
        self.under_way = self.most = 0

    async def _read(self, reference: str, project_id: ProjectId) -> str:
        self.asked.append((reference, project_id))
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await self.open.wait()
            await asyncio.sleep(0)
        finally:
            self.under_way -= 1
        if reference in self.failures:
            raise self.failures[reference]
        return f"of {reference}"

    async def certificate(self, reference: str, project_id: ProjectId) -> CertificateBundle:
        sha256 = await self._read(reference, project_id)
        return CertificateBundle(
            certificate="leaf",
            intermediates=("next",),
            private_key=PrivateKey(b"the key itself"),
            facts=FACTS,
            sha256=sha256,
        )

    async def authority(
        self, reference: str, project_id: ProjectId, *, revocation_list: str | None = None
    ) -> AuthorityBundle:
        sha256 = await self._read(reference, project_id)
        return AuthorityBundle(certificates=("authority",), revocation_list=None, facts=FACTS, sha256=sha256)

    async def revocation_list(self, reference: str, project_id: ProjectId) -> RevocationList:
        sha256 = await self._read(reference, project_id)
        return RevocationList(content="x" * 100_000, sha256=sha256, next_update=None)


class Database:
    """Lets the agent have some references, and notes which are to be read again."""

    def __init__(self, *references: str, sealing_key: bytes = KEYS.public_key) -> None:
        self.references = references
        self.sealing_key = sealing_key
        self.due: list[tuple[str, str, CertificateKind]] = []
        self.lost = False

    async def certificate_reader(self, *who: Any) -> CertificateReader:
        if self.lost:
            raise SessionLost("another agent's")
        readable = tuple(
            ReadableCertificate(project_id="t", reference=one.reference, kind=one.kind, sha256=one.sha256)
            for one in who[-1][: m.CERTIFICATES_PER_CALL]
            if one.reference in self.references
        )
        return CertificateReader(sealing_key=self.sealing_key, readable=readable if self.sealing_key else ())

    async def make_certificate_due(self, project_id: str, reference: str, kind: CertificateKind) -> None:
        self.due.append((project_id, reference, kind))


def callback(database: Database, manager: Manager | None, **settings: Any) -> CertificateCallback:
    store: Any = database
    return CertificateCallback(store, store, manager, ControllerSettings(**settings))


async def test_certificates_of_the_shard_are_read_for_its_project_and_sealed_for_the_session() -> None:
    manager = Manager()
    kinds = (
        wanted("ref-a"),
        wanted("ref-b", kind=CertificateKind.AUTHORITY),
        wanted("ref-c", kind=CertificateKind.REVOCATION_LIST),
    )
    answer = await callback(Database("ref-a", "ref-b", "ref-c"), manager).answer(call(*kinds))
    assert answer.problems == {} and manager.asked == [("ref-a", "t"), ("ref-b", "t"), ("ref-c", "t")]
    opened = [KEYS.open(answer.sealed[one.sha256], replace(PURPOSE, sha256=one.sha256)) for one in kinds]
    assert [one.kind for one in opened] == [one.kind for one in kinds]
    assert opened[0].certificates == ("leaf", "next") and opened[0].private_key == PrivateKey(b"the key itself")
    assert opened[1].certificates == ("authority",) and opened[1].private_key is None
    assert opened[2].revocation_list == "x" * 100_000


async def test_given_certificate_is_logged_without_its_content() -> None:
    with capture_logs() as logs:
        await callback(Database("ref-a"), Manager()).answer(call(wanted("ref-a")))
    (line,) = logs
    assert line["event"] == "certificate given to an agent"
    assert (line["reference"], line["project"], line["agent"]) == ("ref-a", "t", "a")
    assert "the key itself" not in str(logs)


async def test_certificate_without_a_load_balancer_of_the_shard_is_not_read() -> None:
    manager = Manager()
    answer = await callback(Database("ref-a"), manager).answer(call(wanted("ref-a"), wanted("ref-b")))
    assert answer.sealed.keys() == {"of ref-a"} and manager.asked == [("ref-a", "t")]
    assert answer.problems == {"of ref-b": "ref-b: load balancer lb-1 does not refer to it"}


async def test_certificates_are_not_read_for_a_session_without_the_shard() -> None:
    database, manager = Database("ref-a"), Manager()
    database.lost = True
    with pytest.raises(SessionLost):
        await callback(database, manager).answer(call(wanted("ref-a")))
    assert manager.asked == []


async def test_a_session_without_a_key_is_given_nothing() -> None:
    manager = Manager()
    answer = await callback(Database("ref-a", sealing_key=b""), manager).answer(call(wanted("ref-a")))
    assert answer == m.Certificates(
        problems={"of ref-a": "ref-a: the agent's session has no key that private keys could be sealed for"}
    )
    assert manager.asked == []


@pytest.mark.parametrize("key", [b"short", bytes(32)])
async def test_nothing_is_sealed_for_what_is_no_key(key: bytes) -> None:
    answer = await callback(Database("ref-a", sealing_key=key), Manager()).answer(call(wanted("ref-a")))
    assert answer.sealed == {} and "no public key" in answer.problems["of ref-a"]


async def test_a_controller_without_a_key_manager_reports_it() -> None:
    answer = await callback(Database("ref-a"), None).answer(call(wanted("ref-a")))
    assert answer.problems == {"of ref-a": "ref-a: this controller has no key manager: see certificates.key_manager"}


async def test_newer_content_is_not_given_for_older_and_is_looked_at_at_once() -> None:
    database = Database("ref-a")
    answer = await callback(database, Manager()).answer(call(wanted("ref-a", "older")))
    assert answer.sealed == {} and "ref-a: its content was renewed" in answer.problems["older"]
    assert database.due == [("t", "ref-a", CERTIFICATE)]


async def test_each_failure_costs_its_own_reference_only_and_tells_nothing_of_the_content() -> None:
    manager = Manager()
    manager.failures = {
        "ref-b": CertificateNotFound("ref-b"),
        "ref-c": KeyManagerUnavailable("barbican did not answer"),
        "ref-d": ValueError("the key itself"),
    }
    with capture_logs() as logs:
        answer = await callback(Database(*SIX[:4]), manager).answer(call(*map(wanted, SIX[:4])))
    assert answer.sealed.keys() == {"of ref-a"}
    assert answer.problems == {
        "of ref-b": "Could not retrieve certificate: ['ref-b']",
        "of ref-c": "ref-c: barbican did not answer",
        "of ref-d": "ref-d: unexpected error (ValueError)",
    }
    assert "the key itself" not in str(logs)


async def test_a_key_manager_that_does_not_answer_is_waited_for_no_longer_than_the_call() -> None:
    manager = Manager()
    manager.open.clear()
    answer = await callback(Database("ref-a"), manager, certificate_answer_seconds=0.05).answer(call(wanted("ref-a")))
    assert answer.problems == {"of ref-a": "ref-a: the key manager did not answer within 0.05 s"}
    await eventually(lambda: manager.under_way == 0)


async def test_only_so_many_calls_and_reads_are_under_way() -> None:
    manager = Manager()
    manager.open.clear()
    made = callback(Database(*SIX), manager, certificate_calls_at_once=2, key_manager_reads_at_once=2)
    tasks = [asyncio.create_task(made.answer(call(*map(wanted, SIX)))) for _ in range(2)]
    await eventually(lambda: manager.under_way == 4)
    with pytest.raises(CallRefused) as refused:
        await made.answer(call(wanted("ref-a")))
    assert refused.value.code == BUSY and refused.value.retry_after_seconds
    manager.open.set()
    for answer in await asyncio.gather(*tasks):
        assert len(answer.sealed) == 6
    assert manager.most == 4
    assert len((await made.answer(call(wanted("ref-a")))).sealed) == 1


async def test_certificates_beyond_the_limit_of_a_call_are_not_answered() -> None:
    many = [wanted(f"r{n}") for n in range(m.CERTIFICATES_PER_CALL + 30)]
    answer = await callback(Database(), Manager()).answer(call(*many))
    assert len(answer.problems) == m.CERTIFICATES_PER_CALL


async def test_certificate_that_does_not_fit_the_answer_is_a_problem() -> None:
    lists = [wanted(name, kind=CertificateKind.REVOCATION_LIST) for name in SIX[:3]]
    made = callback(Database(*SIX[:3]), Manager(), max_message_bytes=300_000)
    answer = await made.answer(call(*lists, takes_parts=False))
    assert answer.sealed.keys() == {"of ref-a", "of ref-b"} and "does not fit" in answer.problems["of ref-c"]


async def test_a_reason_is_of_bounded_length() -> None:
    answer = await callback(Database(), Manager()).answer(call(wanted("r" * 10_000)))
    assert [len(text) for text in answer.problems.values()] == [500]
