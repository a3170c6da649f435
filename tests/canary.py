"""The canary: one private key that tests plant in key managers, and that is searched in everything processes wrote.

Tests of certificates take :func:`planted_key`. A temporary directory is searched when it is removed, pytest's own when
the session ends, servers' directories when they are closed, and what a test printed or logged after the test. A file in
which the key belongs is written by :func:`write_expected`, or lies in a folder named by :func:`expect_in`: what an
operator gives to a command, a device's own files.
"""

import base64
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec

CHUNK_BYTES = 16 * 1024 * 1024
GREP_BYTES = 1024 * 1024
"""Files of more than this together are searched by grep, which needs a tenth of the time; starting it costs more than
searching few bytes."""
GREP_FILES = 500
"""Files on one command line."""
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108
PIECE_CHARACTERS = 20
"""Of base64: no other text has them by chance."""


class KeyFound(Exception):
    """The planted key is where it does not belong. Repeating the test would hide it."""


findings: list[str] = []
"""Where it was found, for people."""
_expected: set[Path] = set()


@cache
def planted_key() -> ec.EllipticCurvePrivateKey:
    """The key, one for each test process. Its number is one line, as each pattern of grep is."""
    while b"\n" in _number_of(key := ec.generate_private_key(ec.SECP256R1())):
        pass
    return key


def _number_of(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_numbers().private_value.to_bytes(32)


def write_expected(path: Path, content: bytes) -> Path:
    """Write a file in which the key may be."""
    path.write_bytes(content)
    return expect_in(path)


def expect_in(path: Path) -> Path:
    """The key may be in this file, or anywhere below this folder."""
    _expected.add(path.resolve())
    return path


def _base64_pieces(content: bytes) -> Iterator[bytes]:
    """What is in the base64 of whatever has ``content`` in it, wherever in it that is, in lines or not: a line break
    parts only one of two pieces."""
    for offset in range(3):
        text = base64.b64encode(bytes(offset) + content)
        whole = text[4 if offset else 0 : -4]  # what is made of these bytes alone
        yield whole[:PIECE_CHARACTERS]
        yield whole[-PIECE_CHARACTERS:]


@cache
def needles() -> tuple[bytes, ...]:
    """The key's private number as bytes, hexadecimal digits, base64 (which PEM is), and base64 of that."""
    number = _number_of(planted_key())
    once = tuple(_base64_pieces(number))
    digits = number.hex().encode()
    twice = (piece for text in once for piece in _base64_pieces(text))
    return (number, digits, digits.upper(), *once, *twice)


def is_in(content: bytes) -> bool:
    """Does it hold the key?"""
    return any(needle in content for needle in needles())


def _is_planted() -> bool:
    """Has this process a key at all? Only its tests can have planted it."""
    return planted_key.cache_info().currsize > 0


def search(folder: Path) -> None:
    """Look into every file below ``folder``, and note where the key is."""
    if not _is_planted() or any(map(_belongs_in, (folder, *folder.parents))):
        return
    paths = [path for path in _files(folder) if path.resolve() not in _expected]
    findings.extend(f"the planted private key is in {path}" for path in _holding(paths))


def _files(folder: Path) -> Iterator[Path]:
    for root, names, files in os.walk(folder):
        names[:] = [name for name in names if not _belongs_in((Path(root) / name).resolve())]
        yield from (path for path in (Path(root) / name for name in files) if path.is_file() and not path.is_symlink())


def _belongs_in(folder: Path) -> bool:
    """Also in the folder of keys that a daemon has in memory."""
    of_keys = folder.name.startswith("evenkeel-keys-") and folder.is_relative_to(SHARED_MEMORY)
    return of_keys or folder in _expected


def _holding(paths: list[Path]) -> Iterator[Path]:
    """Those files that hold the key."""
    if sum(map(_bytes_of, paths)) <= GREP_BYTES or shutil.which("grep") is None:
        yield from filter(_holds, paths)
        return
    for first in range(0, len(paths), GREP_FILES):
        yield from _found_by_grep(paths[first : first + GREP_FILES])


def _bytes_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # it went meanwhile
        return 0


def _found_by_grep(paths: list[Path]) -> Iterator[Path]:
    """Raises :class:`RuntimeError` if grep fails otherwise than by files that went meanwhile."""
    options = ("--files-with-matches", "--null", "--text", "--fixed-strings", "--no-messages", "--file=-")
    done = subprocess.run(
        ["grep", *options, "--", *map(str, paths)],
        input=b"\n".join(needles()),  # not on the command line, nor in a file: it would be found there
        env={"LC_ALL": "C", "PATH": os.environ.get("PATH", os.defpath)},
        capture_output=True,
        check=False,
    )
    if done.stderr or done.returncode < 0:
        raise RuntimeError(f"grep: {done.returncode} {done.stderr.decode(errors='replace')}")
    yield from (Path(os.fsdecode(name)) for name in done.stdout.split(b"\0")[:-1])


def _holds(path: Path) -> bool:
    overlap = max(map(len, needles()))
    last = b""
    try:
        with path.open("rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                if is_in(last + chunk):
                    return True
                last = chunk[-overlap:]
    except OSError:  # it went meanwhile
        return False
    return False


def search_texts(where: str, texts: Iterable[str]) -> None:
    """Look into what a test printed and logged."""
    if _is_planted() and any(is_in(text.encode(errors="replace")) for text in texts):
        findings.append(f"the planted private key is in the output of {where}")


def take_findings() -> list[str]:
    """What was found since the last call."""
    found, findings[:] = list(findings), []
    return found


def watch_removals() -> None:
    """From now on, look into temporary directories when they are removed."""
    remove = shutil.rmtree
    temporary = Path(tempfile.gettempdir()).resolve()
    made: set[Path] = set()
    make = tempfile.mkdtemp

    def noting(*args: Any, **named: Any) -> str:
        path = make(*args, **named)
        made.add(Path(path).resolve())
        return path

    def searching(path: Any, *args: Any, **named: Any) -> None:
        place = Path(os.fsdecode(path)).resolve() if isinstance(path, str | bytes | os.PathLike) else temporary
        if any(place == one or one in place.parents for one in made):
            search(place)
            made.discard(place)
        remove(path, *args, **named)

    searching.avoids_symlink_attacks = remove.avoids_symlink_attacks  # type: ignore[attr-defined]
    tempfile.mkdtemp = noting  # type: ignore[assignment]
    shutil.rmtree = searching  # type: ignore[assignment]
