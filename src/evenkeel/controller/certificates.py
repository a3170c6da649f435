"""Delivers sealed contents of certificates to agents: read from the key manager on request, and not stored.

An agent gets only contents to which load balancers of its shard refer. A slow or unavailable key manager does not delay
other work: the number of concurrent calls is limited, each is answered in bounded time, and each unreadable content
gets its own error text.
"""

import asyncio
import traceback
from collections.abc import Iterable

import structlog

from evenkeel.controller.settings import ControllerSettings
from evenkeel.core.kit.errors import CallRefused, CertificateError, Unavailable
from evenkeel.core.kit.message_chunks import MESSAGE_OVERHEAD_BYTES, encoded_bytes
from evenkeel.core.ports import KeyManager, OwnershipStore, RenewalStore
from evenkeel.core.ports.certificate_contents import read_certificate
from evenkeel.core.protocol import messages as m
from evenkeel.core.tls.certificates import CertificateContent, CertificateReader, ReadableCertificate
from evenkeel.sealing import BoxContext, SealingError, seal_certificate_content

log = structlog.get_logger(__name__)

BUSY = "busy"
"""Code of the refusal at the limit of concurrent calls."""
BUSY_SECONDS = 1.0
PROBLEM_CHARACTERS_MAX = 500


class _ContentUnavailable(Exception):
    """The content of a certificate cannot be delivered; the text is the reason."""


class CertificateCallback:
    """Answers :class:`GetCertificates`. ``key_manager``: None if the controller has none; then every content
    is answered with that reason.
    """

    def __init__(
        self,
        ownership: OwnershipStore,
        renewals: RenewalStore,
        key_manager: KeyManager | None,
        settings: ControllerSettings,
    ) -> None:
        self._ownership = ownership
        self._renewals = renewals
        self._key_manager = key_manager
        self._settings = settings
        self._under_way = 0

    async def answer(self, call: m.GetCertificates) -> m.Certificates:
        """Read and seal the requested contents; unreadable ones are in the answer with a reason. Raises
        :class:`SessionLost`, :class:`StoreUnavailable`, and :class:`CallRefused` if too many calls are in
        progress.
        """
        # Refused, not queued: a waiting call would hold one of the places for all of the environment's messages.
        if self._under_way >= self._settings.certificate_calls_at_once:
            raise CallRefused(BUSY, "others are given certificates; ask again", retry_after_seconds=BUSY_SECONDS)
        self._under_way += 1
        try:
            return await self._read_and_seal(call)
        finally:
            self._under_way -= 1

    async def _read_and_seal(self, call: m.GetCertificates) -> m.Certificates:
        reader = await self._ownership.certificate_reader(
            call.agent_id, call.session_id, call.shard_id, call.epoch, call.wanted
        )
        # Without a key nothing is sent at all; contents never travel unsealed.
        if not reader.sealing_key:
            return _refuse_all(call, "the agent's session has no key that private keys could be sealed for")
        if self._key_manager is None:
            return _refuse_all(call, "this controller has no key manager: see certificates.key_manager")
        given = {(one.reference, one.kind, one.sha256) for one in reader.readable}
        left_out = [one for one in call.wanted if (one.reference, one.kind, one.sha256) not in given]
        problems = {
            one.sha256: _problem_text(one.reference, f"load balancer {one.load_balancer_id} does not refer to it")
            for one in left_out[: m.CERTIFICATES_PER_CALL]
        }
        sealed: dict[str, bytes] = {}
        for one, found in await self._read_all(call, reader, self._key_manager):
            if isinstance(found, bytes):
                sealed[one.sha256] = found
            else:
                problems[one.sha256] = _problem_text(one.reference, found)
        return self._answer_within_message_size(call, sealed, problems)

    async def _read_all(
        self, call: m.GetCertificates, reader: CertificateReader, key_manager: KeyManager
    ) -> list[tuple[ReadableCertificate, bytes | str]]:
        """Read and seal all contents, within the time limit; returns for each a sealed box (bytes), or the
        reason why there is none (text).
        """
        if not reader.readable:
            return []
        # For this call only; certificate_calls_at_once bounds the number of calls.
        reads = asyncio.Semaphore(self._settings.key_manager_reads_at_once)

        async def read_and_seal(one: ReadableCertificate) -> bytes:
            async with reads:
                content = await self._read_content(one, key_manager)
            return _seal_content(content, call, one, reader.sealing_key)

        tasks = {asyncio.create_task(read_and_seal(one)): one for one in reader.readable}
        try:
            # wait() instead of gather(): what is there when the time is over is delivered.
            await asyncio.wait(tasks, timeout=self._settings.certificate_answer_seconds)
        finally:
            late = [task for task in tasks if not task.done()]
            for task in late:
                task.cancel()
        return [(one, self._sealed_content_or_problem(task, one, call)) for task, one in tasks.items()]

    def _sealed_content_or_problem(
        self, task: asyncio.Task[bytes], one: ReadableCertificate, call: m.GetCertificates
    ) -> bytes | str:
        if not task.done() or task.cancelled():
            return f"the key manager did not answer within {self._settings.certificate_answer_seconds:g} s"
        about = log.bind(
            reference=one.reference,
            kind=one.kind.value,
            sha256=one.sha256,
            project=one.project_id,
            agent=call.agent_id,
            session=call.session_id,
            shard=call.shard_id,
            epoch=call.epoch,
        )
        error = task.exception()
        if error is None:
            about.info("certificate given to an agent")
            return task.result()
        if isinstance(error, _ContentUnavailable | SealingError | CertificateError | Unavailable):
            about.warning("certificate not given to an agent", reason=str(error))
            return str(error)
        # its text may contain secrets, so only its location is logged
        where = "".join(traceback.format_tb(error.__traceback__))
        about.error("certificate not given because of an unexpected error", error=type(error).__name__, where=where)
        return f"unexpected error ({type(error).__name__})"

    async def _read_content(self, one: ReadableCertificate, key_manager: KeyManager) -> CertificateContent:
        """Read one content from the key manager. Raises :class:`CertificateError`,
        :class:`KeyManagerUnavailable`; :class:`_ContentUnavailable` if the content has changed since the definition
        was written, and makes the reference due to be read.
        """
        found = await read_certificate(key_manager, one.reference, one.project_id, one.kind)
        if found.content.sha256 != one.sha256:
            # The definition names the former content; reading the reference now leads to a revision with the new one.
            await self._renewals.make_certificate_due(one.project_id, one.reference, one.kind)
            raise _ContentUnavailable("its content was renewed a moment ago; the new one follows")
        return found.content

    def _answer_within_message_size(
        self, call: m.GetCertificates, sealed: dict[str, bytes], problems: dict[str, str]
    ) -> m.Certificates:
        """Build the answer with as many boxes as fit into a message; for each of the others a text is added
        to ``problems``.
        """
        largest = m.LARGEST_ANSWER_BYTES if call.takes_parts else self._settings.max_message_bytes
        # Problems are sent in any case; boxes get the room that is left.
        room = largest - MESSAGE_OVERHEAD_BYTES - encoded_bytes(problems)
        boxes = {}
        for sha256, box in sealed.items():
            room -= encoded_bytes({sha256: box})
            if room < 0:
                problems[sha256] = f"content {sha256} does not fit into the answer"
            else:
                boxes[sha256] = box
        return m.Certificates(
            sealed=boxes, problems={sha256: text for sha256, text in problems.items() if sha256 not in boxes}
        )


def _seal_content(content: CertificateContent, call: m.GetCertificates, one: ReadableCertificate, key: bytes) -> bytes:
    purpose = BoxContext(
        agent_id=call.agent_id,
        session_id=call.session_id,
        shard_id=call.shard_id,
        epoch=call.epoch,
        sha256=one.sha256,
    )
    return seal_certificate_content(content, key, purpose)


def _refuse_all(call: m.GetCertificates, reason: str) -> m.Certificates:
    wanted: Iterable[m.WantedCertificate] = call.wanted[: m.CERTIFICATES_PER_CALL]
    return m.Certificates(problems={one.sha256: _problem_text(one.reference, reason) for one in wanted})


def _problem_text(reference: str, reason: str) -> str:
    named = reason if reference in reason else f"{reference}: {reason}"
    return named[:PROBLEM_CHARACTERS_MAX]
