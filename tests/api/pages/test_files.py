"""The dashboard's files: small, of this origin only, and built from what is in the repository."""

import hashlib
import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from evenkeel.api.app import create_app
from evenkeel.api.pages.files import read_files
from evenkeel.network.builtin import BuiltinNetwork
from evenkeel.store.sql_store import SqlStore
from tests.api.client import Client, Sink

UI = Path(__file__).parents[3] / "ui"
STATIC = Path(__file__).parents[3] / "src" / "evenkeel" / "api" / "pages" / "static"
BYTES_MAX = 300_000


@pytest.fixture
async def http(store: SqlStore) -> AsyncIterator[httpx.AsyncClient]:
    network = BuiltinNetwork(store.operators)
    async with Client.of(create_app(store=store, network=network, driver=Sink(), default_provider="dev")) as client:
        yield client.http


async def test_the_folder_has_its_page_and_all_that_it_names(http: httpx.AsyncClient) -> None:
    answer = await http.get("/ui")
    assert (answer.status_code, answer.headers["location"]) == (307, "ui/")
    page = await http.get("/ui/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    named = re.findall(r'(?:src|href)="([^":]+)"', page.text)
    assert named == ["app.css", "app.js"]
    for name in named:
        assert (await http.get(f"/ui/{name}")).status_code == 200


@pytest.mark.parametrize("path", ["/ui/", "/ui/app.js", "/ui/app.css"])
async def test_a_browser_takes_nothing_from_elsewhere(http: httpx.AsyncClient, path: str) -> None:
    answer = await http.get(path)
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-openstack-request-id"]


async def test_unchanged_file_is_answered_with_304(http: httpx.AsyncClient) -> None:
    first = await http.get("/ui/app.js")
    again = await http.get("/ui/app.js", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    head = await http.head("/ui/app.js")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == str(len(first.content))


@pytest.mark.parametrize("path", ["/ui/other.js", "/ui/sources.sha256", "/ui/..%2ffiles.py", "/ui/%00"])
async def test_there_is_no_other_file(http: httpx.AsyncClient, path: str) -> None:
    assert (await http.get(path)).status_code == 404


async def test_nothing_can_be_written_there(http: httpx.AsyncClient) -> None:
    assert (await http.post("/ui/", json={})).status_code == 405


def test_all_of_it_is_small_and_names_no_other_host() -> None:
    files = read_files()
    assert files.keys() == {"index.html", "app.js", "app.css"}
    assert sum(len(file.content) for file in files.values()) <= BYTES_MAX
    named = {host for file in files.values() for host in re.findall(rb"https?://([\w.-]+)", file.content)}
    assert named <= {b"www.w3.org"}  # names of XML, which nobody asks


def test_the_bundle_is_of_these_sources() -> None:
    names = [*(path.relative_to(UI).as_posix() for path in (UI / "src").rglob("*") if path.is_file())]
    digest = hashlib.sha256()
    for name in sorted([*names, "build.mjs", "package.json", "package-lock.json"]):
        digest.update(f"{name}\0".encode() + (UI / name).read_bytes())
    built = (STATIC / "sources.sha256").read_text().strip()
    assert digest.hexdigest() == built, "run: cd ui && npm ci --ignore-scripts && npm run build"
