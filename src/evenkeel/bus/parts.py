"""Answers that do not fit one message: split into parts, and reassembled by the caller.

A part is a slice of the answer's envelope. All parts of an answer come from one read of the database, and carry its
digest, so parts of two answers (to a call that was delivered twice) are never mixed. After the loss of a part the call
times out, and its caller repeats it.
"""

import hashlib

from evenkeel.bus.codec import encode
from evenkeel.core.kit.errors import MessageRejected
from evenkeel.core.protocol.messages import LARGEST_ANSWER_BYTES, ReplyPart

OVERHEAD_BYTES = 512
"""The most that a part's envelope takes: ids, numbers and names of fields."""
ANSWERS_MAX = 2
"""Answers to one call that are reassembled at a time; of more, the oldest is dropped."""


def split_message(raw: bytes, *, message_id: str, max_bytes: int) -> tuple[bytes, ...]:
    """Split an encoded reply into :class:`ReplyPart` messages of at most ``max_bytes`` bytes, in order, from
    which :class:`PartAssembler` restores the reply. ``message_id``: id of the call.
    """
    size = (max_bytes - OVERHEAD_BYTES) // 4 * 3  # bytes are encoded as base64
    digest = _sha256_digest(raw)
    slices = [raw[start : start + size] for start in range(0, len(raw), size)]
    return tuple(
        encode(
            ReplyPart(number=number, count=len(slices), digest=digest, data=data),
            message_id=message_id,
            max_bytes=max_bytes,
        )
        for number, data in enumerate(slices)
    )


class PartAssembler:
    """Reassembles the answers to one call from their parts."""

    def __init__(self) -> None:
        self._answers: dict[str, dict[int, bytes]] = {}

    def add(self, part: ReplyPart) -> bytes | None:
        """Add a part of an answer; returns the whole answer's bytes once all parts are there, else None.

        Raises :class:`MessageRejected` for a part number outside of the count, for an answer larger than
        ``LARGEST_ANSWER_BYTES``, and for parts that do not match their digest.
        """
        if not 0 <= part.number < part.count:
            raise MessageRejected(f"part {part.number} of {part.count}")
        # By digest: a call that was delivered twice has two answers, whose parts may arrive mixed.
        found = self._answers.setdefault(part.digest, {})
        found[part.number] = part.data
        # The count and the data come from another process; without this limit it could fill this one's memory.
        if sum(map(len, found.values())) > LARGEST_ANSWER_BYTES:
            del self._answers[part.digest]
            raise MessageRejected(f"an answer in parts of more than {LARGEST_ANSWER_BYTES} bytes")
        if len(self._answers) > ANSWERS_MAX:
            del self._answers[next(iter(self._answers))]
        if len(found) < part.count:
            return None
        raw = b"".join(found[number] for number in sorted(found))
        if _sha256_digest(raw) != part.digest:
            del self._answers[part.digest]
            raise MessageRejected("parts that are none of one answer")
        return raw


def _sha256_digest(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()
