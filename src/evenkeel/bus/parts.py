"""Answers that do not fit one message: cut into parts, and put together again where the call was made.

A part is a slice of the answer's envelope. All parts of one answer come from one reading of the database, and name its
digest: those of an answer that was made twice (its call was delivered twice) are never mixed, and a stream of changes
starves nobody. What is lost is lost as any answer is: the call times out, and its caller asks again.
"""

import hashlib

from evenkeel.bus.codec import encode
from evenkeel.core.errors import MessageRejected
from evenkeel.core.messages import LARGEST_ANSWER_BYTES, ReplyPart

OVERHEAD_BYTES = 512
"""Of a part's envelope, at most: ids, numbers and names of fields."""
ANSWERS_MAX = 2
"""Answers to one call that are put together at a time; of more, the oldest is forgotten."""


def cut(raw: bytes, *, message_id: str, max_bytes: int) -> tuple[bytes, ...]:
    """Messages of at most ``max_bytes`` that :class:`PartAssembler` puts together to ``raw`` again."""
    size = (max_bytes - OVERHEAD_BYTES) // 4 * 3  # bytes travel as base64
    digest = _digest(raw)
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
    """The parts of the answers to one call that have come so far."""

    def __init__(self) -> None:
        self._answers: dict[str, dict[int, bytes]] = {}

    def add(self, part: ReplyPart) -> bytes | None:
        """The whole answer's bytes, if this was what it lacked. Raises :class:`MessageRejected` for a part that cannot
        be one of an answer."""
        if not 0 <= part.number < part.count:
            raise MessageRejected(f"part {part.number} of {part.count}")
        found = self._answers.setdefault(part.digest, {})
        found[part.number] = part.data
        if sum(map(len, found.values())) > LARGEST_ANSWER_BYTES:
            del self._answers[part.digest]
            raise MessageRejected(f"an answer in parts of more than {LARGEST_ANSWER_BYTES} bytes")
        if len(self._answers) > ANSWERS_MAX:
            del self._answers[next(iter(self._answers))]
        if len(found) < part.count:
            return None
        raw = b"".join(found[number] for number in sorted(found))
        if _digest(raw) != part.digest:
            del self._answers[part.digest]
            raise MessageRejected("parts that are none of one answer")
        return raw


def _digest(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()
