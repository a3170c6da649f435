"""After a wait, tests assert what was waited for: see :mod:`tests.settled`."""

from pathlib import Path
from textwrap import dedent, indent

import pytest

from tests.settled import findings

TESTS = Path(__file__).parent
PACKAGES = TESTS.parent / "packages"

WAITING = """
import time

async def eventually(condition):
    while not condition():
        await sleep(0.01)

def until(condition):
    return run(eventually(condition))

class Clients:
    async def until(self, **statuses):
        async def so():
            return statuses
        await eventually(so)

    def look(self):
        time.sleep(1)
"""


def found(body: str, *, also: str = "") -> list[int]:
    """Lines of the findings in the body of a test, where its first line is 1."""
    head = (
        "from tests.waiting import Clients, eventually, until\n"
        + dedent(also)
        + "\nasync def test(clients: Clients):\n"
    )
    sources = {"tests.waiting": WAITING, "tests.test_it": head + indent(dedent(body).strip("\n"), "    ")}
    return [one.line - head.count("\n") for one in findings(sources)]


def test_assertions_after_waits_are_about_what_was_waited_for() -> None:
    sources = {
        ".".join(path.relative_to(root).with_suffix("").parts): path.read_text()
        for root in (
            TESTS.parent,
            PACKAGES / "icontrol-emulator" / "tests",
            PACKAGES / "icontrol-as3" / "tests",
        )
        for path in root.glob("*tests/**/*.py")
    }
    assert [str(one) for one in findings(sources)] == []


@pytest.mark.parametrize(
    "wait",
    [
        "await eventually(lambda: a.b)",
        "await wait_for(eventually(lambda: a.b), 5)",
        "until(lambda: a.b)",
        "await clients.until(lb='ONLINE')",
        "while not a.b:\n    time.sleep(1)",
        "for _ in range(9):\n    if a.b:\n        break\n    time.sleep(1)",
        "for one in a.b:\n    await eventually(one)",
        "await settled(a)",
        "answer = await eventually(lambda: a.b)",
        "assert await eventually(lambda: a.b)",
    ],
)
def test_an_assertion_about_something_else_is_found_after_every_kind_of_wait(wait: str) -> None:
    helper = """
    async def settled(a):
        async with timeout(5):
            await eventually(lambda: a.b)
    """
    assert found(f"{wait}\nassert a.c", also=helper) == [wait.count("\n") + 2]


def test_every_assertion_up_to_the_next_statement_is_looked_at() -> None:
    body = """
    await eventually(lambda: a.b)
    assert a.b == 1
    assert a.c
    assert await d()
    e()
    assert a.f
    """
    assert found(body) == [3, 4]


def test_waits_are_found_in_loops_branches_and_functions_in_functions() -> None:
    body = """
    async def inner():
        await eventually(lambda: a)
        assert b
    for one in a:
        if one:
            await eventually(lambda: a)
            assert b
    try:
        pass
    except ValueError:
        await eventually(lambda: a)
        assert b
    """
    assert sorted(found(body)) == [3, 7, 12]


@pytest.mark.parametrize(
    "body",
    [
        "await eventually(lambda: a.b and a.c == 1)\nassert a.c == 1",
        "await eventually(lambda: len(a.b) == 2)\nassert a.b[0] == 'x' and all(one.well for one in a.b)",
        "answer = await eventually(lambda: a.b)\nassert answer.c == EXPECTED",
        "async def so():\n    return a.c\nawait eventually(so)\nassert a.c",
        "while not a.c:\n    sleep(1)\nassert a.c",
    ],
)
def test_an_assertion_about_what_was_waited_for_passes(body: str) -> None:
    assert found(body) == []


@pytest.mark.parametrize(
    "body",
    [
        "await eventually(lambda: a)\ndo()\nassert b",
        "async with a:\n    await eventually(lambda: a)\nassert b",
        "clients.look()\nassert b",
        "other.until(1)\nassert b",
        "await remote.eventually(a)\nassert b",
        "for one in a:\n    sleep(1)\nassert b",
    ],
)
def test_no_wait_comes_at_once_before_the_assertion(body: str) -> None:
    other = "class Other:\n    def until(self, count):\n        return count"
    assert found(body, also=other) == []


@pytest.mark.parametrize(
    "body",
    [
        "await eventually(lambda: a)\nassert b  # settled: b comes before a",
        "await eventually(lambda: a)\n# settled: b comes before a\nassert b",
        "await eventually(lambda: a)\nassert b == [  # settled: b comes before a\n    1,\n]",
        "await eventually(lambda: a)  # settled: both come before a\nassert b\nassert c",
        "# settled: both come before a\nawait eventually(lambda: a)\nassert b\nassert c",
    ],
)
def test_a_reason_allows_an_assertion(body: str) -> None:
    assert found(body) == []


@pytest.mark.parametrize("comment", ["# settled", "# settled:", "# b comes before a"])
def test_a_mark_without_a_reason_allows_nothing(comment: str) -> None:
    assert found(f"await eventually(lambda: a)\nassert b  {comment}") == [2]


def test_a_reason_at_an_assertion_allows_that_one_only() -> None:
    assert found("await eventually(lambda: a)\nassert b  # settled: b comes before a\n\nassert c") == [4]
