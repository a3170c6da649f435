"""/var/config/rest/downloads: files that clients upload in chunks, for use by later requests.

A file exists once its last byte has arrived; until then its chunks are in `tmp`, in any order. A chunk that starts at 0
restarts the upload. No file is removed to make room: as on a device, a full disk is an error.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from icontrol_emulator.errors import RestError

FOLDER = "/var/config/rest/downloads"
UNFINISHED = "/".join((FOLDER, "tmp"))
SHARED_BYTES_MAX = 1
CHUNK_BYTES_MAX = 1024 * 1024 + SHARED_BYTES_MAX
"""F5's f5-sdk-js sends chunks of 1 MiB and a byte, of which the last one is the first of the next chunk."""
FILE_BYTES_MAX = 16 * 1024 * 1024
FILES_MAX = 20_000
NAME_LENGTH_MAX = 255
TOTAL_BYTES_MAX = 512 * 1024 * 1024
PARTS_MAX = 200


@dataclass(slots=True)
class Part:
    """A file whose upload is incomplete."""

    total: int
    chunks: dict[int, bytes] = field(default_factory=dict)

    @property
    def missing(self) -> int:
        came, covered_to = 0, 0
        for start, chunk in sorted(self.chunks.items()):
            end = start + len(chunk)
            came += max(0, end - max(start, covered_to))
            covered_to = max(covered_to, end)
        return self.total - came

    @property
    def used(self) -> dict[str, int]:
        return {str(start): len(chunk) for start, chunk in sorted(self.chunks.items())}

    def joined(self) -> bytes:
        whole = bytearray(self.total)
        for start, chunk in sorted(self.chunks.items()):
            whole[start : start + len(chunk)] = chunk
        return bytes(whole)

    def overlaps(self, start: int, end: int) -> bool:
        """Whether bytes `start` to `end` (inclusive) share more with another chunk than the one byte at its edge."""
        return any(
            min(end + 1, other + len(chunk)) - max(start, other) > SHARED_BYTES_MAX
            for other, chunk in self.chunks.items()
            if other != start
        )


class Uploads:
    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self._parts: dict[str, Part] = {}

    def add(self, name: str, data: bytes, start: int, end: int, total: int) -> Part:
        """Store a chunk, bytes `start` to `end` (inclusive) of `total`; returns the state of the file."""
        self._check(name, data, start, end, total)
        part = self._parts.get(name)
        if part is None or start == 0 or part.total != total:
            part = Part(total)
        if part.overlaps(start, end):
            raise RestError(400, f"Chunk at {start} overlaps another one of {name}")
        part.chunks[start] = data
        self._parts.pop(name, None)
        if part.missing:
            while len(self._parts) >= PARTS_MAX:
                del self._parts[next(iter(self._parts))]
            self._parts[name] = part
        else:
            self.files[name] = part.joined()
        return part

    def clear(self) -> None:
        self.files.clear()
        self._parts.clear()

    def _check(self, name: str, data: bytes, start: int, end: int, total: int) -> None:
        if not name or name in (".", "..") or "/" in name or len(name) > NAME_LENGTH_MAX:
            raise RestError(400, f"Invalid file name {name[:NAME_LENGTH_MAX]}")
        if end - start + 1 != len(data):
            # as F5Networks/f5-ansible pull request 2529 quotes it
            text = f"Chunk byte count {end - start + 1} different from received buffer length {len(data)}"
            raise RestError(400, text)
        if not 0 <= start <= end < total or len(data) > CHUNK_BYTES_MAX or total > FILE_BYTES_MAX:
            raise RestError(400, f"Invalid Content-Range {start}-{end}/{total}")
        held = sum(len(content) for content in self.files.values())
        if held + total > TOTAL_BYTES_MAX or len(self.files) >= FILES_MAX:
            raise RestError(500, "java.io.IOException: No space left on device")


def name_of(path: str) -> str:
    """The name of an uploaded file, from its path, with or without the prefix `file:`."""
    return f"/{path.removeprefix('file:').lstrip('/')}".removeprefix(f"{FOLDER}/")
