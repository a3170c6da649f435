import asyncio
from pathlib import Path

import pytest

from evenkeel.haproxyd.errors import HaproxyDown
from evenkeel.haproxyd.haproxy import binary
from evenkeel.haproxyd.haproxy.binary import BinaryFinder, BinaryUnusable, find_binary, parse_version
from tests.demo.test_processes import is_there
from tests.waiting import eventually


def script(folder: Path, text: str) -> Path:
    path = folder / "haproxy"
    path.write_text(f"#!/bin/sh\necho '{text}'\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("text", "release", "cookies", "answers"),
    [
        ("HAProxy version 2.6.12-1+deb12u4 2026/10/17 - https://haproxy.org/", (2, 6), False, False),
        ("HAProxy version 2.8.25-5cf5d0683 2026/06/26", (2, 8), True, True),
        ("HAProxy version 3.0.11-1~bpo 2025/01/01", (3, 0), True, True),
    ],
)
def test_says_what_a_release_can_do(text, release, cookies, answers):
    found = parse_version(Path("/usr/sbin/haproxy"), text)
    assert (found.release, found.supports_cookie_at_runtime, found.reports_reload_result) == (release, cookies, answers)


@pytest.mark.parametrize(
    ("version", "told"),
    [
        ("2.6.12-1+deb12u4", ["HTTP_COOKIE", "revocation lists", "health monitor's timeout"]),
        ("2.8.15", ["revocation lists", "health monitor's timeout"]),
        ("2.8.25-5cf5d0683", []),
        ("3.0.11-1+deb13u4", ["revocation lists", "health monitor's timeout"]),
        ("3.2.0", ["revocation lists", "health monitor's timeout", "haproxy -c"]),
        ("3.2.26-1", ["revocation lists", "haproxy -c"]),
        ("3.3.2", ["haproxy -c", "checked over TLS"]),
        ("3.4.7-1", ["haproxy -c"]),
        ("3.5-dev3", ["haproxy -c"]),
    ],
)
async def test_note_names_the_differences_of_a_release(version, told, tmp_path):
    finder = BinaryFinder(script(tmp_path, f"HAProxy version {version} 2026/10/14"))
    assert finder.note == ""
    await finder.find()
    assert [words in one for one, words in zip(finder.note.split("; "), told, strict=bool(told))] == [True] * len(told)
    assert finder.note.startswith(f"with HAProxy {version} ") == bool(told)


async def test_a_release_that_is_too_old_is_refused_with_words(tmp_path):
    with pytest.raises(BinaryUnusable, match=r"2\.5\.14 is too old; 2\.6 or newer"):
        await find_binary(script(tmp_path, "HAProxy version 2.5.14 2023/01/01"))


async def test_another_program_is_refused_with_words(tmp_path):
    with pytest.raises(BinaryUnusable, match="reports no version"):
        await find_binary(script(tmp_path, "nginx version: nginx/1.22"))


async def test_a_configured_path_without_a_program_is_refused_with_words(tmp_path):
    with pytest.raises(BinaryUnusable, match="no such program"):
        await find_binary(tmp_path / "none")


async def test_a_system_that_has_an_old_one_gets_the_one_of_the_package(tmp_path, monkeypatch):
    old, new = tmp_path / "old", tmp_path / "new"
    for folder, version in ((old, "2.4.24"), (new, "2.8.25")):
        folder.mkdir()
        script(folder, f"HAProxy version {version} 2025/01/01")
    monkeypatch.setattr(binary, "SEARCH_PATH", str(old))
    monkeypatch.setattr(binary, "packaged_binary", lambda: new / "haproxy")
    assert (await find_binary(None)).path == new / "haproxy"
    monkeypatch.setattr(binary, "packaged_binary", lambda: None)
    with pytest.raises(BinaryUnusable, match=r"2\.4\.24 is too old"):
        await find_binary(None)


async def test_finds_the_one_of_the_system_or_of_the_package():
    assert (await find_binary(None)).release >= (2, 6)


async def test_one_that_states_nothing_ends_with_those_who_requested_it(tmp_path):
    silent, said = tmp_path / "haproxy", tmp_path / "pid"
    silent.write_text(f"#!/bin/sh\necho $$ >{said}.new; mv {said}.new {said}; exec sleep 600\n")
    silent.chmod(0o755)
    asking = asyncio.create_task(find_binary(silent))
    await eventually(said.exists)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert not is_there(int(said.read_text()))


async def test_a_program_that_is_removed_is_reported_and_one_that_is_back_is_used(tmp_path: Path) -> None:
    program = tmp_path / "haproxy"

    def install() -> None:
        program.write_text("#!/bin/sh\necho HAProxy version 2.8.25\n")
        program.chmod(0o755)

    install()
    finder = BinaryFinder(program)
    assert (await finder.find()).version == "2.8.25"
    program.unlink()
    with pytest.raises(HaproxyDown, match="no such program"):
        await finder.find()
    assert finder.problem and not finder.version
    install()
    assert (await finder.find()).path == program
    assert not finder.problem
