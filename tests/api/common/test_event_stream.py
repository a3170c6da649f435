"""Server-sent events over HTTP: resumable, role-checked, and refused with a reason."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.api.live import LiveServer

PATH = "/evenkeel/v1/events"
STREAM = {"Accept": "text/event-stream"}


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    with LiveServer.started(tmp_path) as server:
        yield server.url


def changes(url: str, *texts: str) -> None:
    """One event each."""
    for text in texts:
        answer = httpx.put(
            f"{url}/evenkeel/v1/agents/instant/{text}", json={} if text == "failback" else None, timeout=60.0
        )
        assert answer.status_code == 200, answer.text


def taken(answer: httpx.Response, count: int) -> tuple[list[dict[str, object]], int]:
    """The next events, and the id to come back with."""
    events: list[dict[str, object]] = []
    last = 0
    for line in answer.iter_lines():
        if line.startswith("id: "):
            last = int(line[4:])
        if line.startswith("data: "):
            events.append(json.loads(line[6:]))
        if len(events) == count:
            break
    return events, last


def test_events_come_as_they_happen_and_from_where_a_client_was(url: str) -> None:
    with httpx.Client(base_url=url, timeout=60.0) as client:
        with client.stream("GET", PATH, headers=STREAM) as answer:
            assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
            changes(url, "drain", "undrain")
            first, _ = taken(answer, 1)
        changes(url, "drain")
        known = client.get(PATH).json()["events"]
        after = first[0]["id"]
        with client.stream("GET", PATH, headers={**STREAM, "Last-Event-ID": str(after)}) as answer:
            missed, last = taken(answer, len([row for row in known if row["id"] > after]))
    assert missed == [row for row in known if row["id"] > after]  # the same objects as of the list
    assert last == known[-1]["id"]


def test_a_parameter_of_the_list_only_is_refused(url: str) -> None:
    answer = httpx.get(f"{url}{PATH}?newest=true", headers=STREAM, timeout=60.0)
    assert answer.status_code == 400
    assert "newest" in answer.json()["description"]


@pytest.mark.parametrize("header", ["x", "-1", "9" * 30, "1; drop"])
def test_an_id_that_is_none_begins_again(url: str, header: str) -> None:
    with httpx.stream("GET", f"{url}{PATH}", headers={**STREAM, "Last-Event-ID": header}, timeout=60.0) as answer:
        assert answer.status_code == 200
        assert next(answer.iter_lines()).startswith("retry:")


def test_only_events_are_streamed(url: str) -> None:
    assert httpx.get(f"{url}/evenkeel/v1/agents", headers=STREAM, timeout=60.0).status_code == 406
