"""One of ten thousand load balancers is found, and what was asked stays in the URL."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from sqlalchemy import update

from benchmarks.dashboard import fill, start_controller
from evenkeel.store.records import schema
from evenkeel.store.sql_store import open_store
from tests.ui.looking import Window
from tests.ui.world import finished

LOAD_BALANCERS = 10_000
AGENTS = 8

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A controller without authentication."""
    directory = tmp_path_factory.mktemp("finding")
    database = f"sqlite:///{directory / 'filled.db'}"
    finished(fill(database, LOAD_BALANCERS, AGENTS))
    finished(_nobody_is_served(database))
    workspace, url, _ = finished(start_controller(directory, database))
    yield url
    for process in workspace.processes.values():
        process.stop()


async def _nobody_is_served(database: str) -> None:
    store = open_store(database)
    root = schema.load_balancer
    values = {"operating_status": "OFFLINE", "provisioning_status": "ACTIVE"}
    await store.database.write(lambda connection: connection.execute(update(root).values(values)))
    held = root.c.name == "lb-00042"
    await store.database.write(lambda connection: connection.execute(update(root).where(held).values(held=True)))
    await store.close()


@pytest.fixture
def window(url: str, browser: Browser, tmp_path: Path) -> Iterator[Window]:
    context = browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
    opened = Window(context.new_page(), url, tmp_path)
    yield opened
    context.close()
    assert opened.errors == []
    assert opened.foreign == []


def test_a_load_balancer_is_found_by_part_of_its_name(window: Window) -> None:
    page = window.page
    window.go("loadbalancers")
    expect(page.get_by_text("10,000 load balancers")).to_be_visible()
    page.get_by_label("Search").fill("B-0973")
    expect(page.get_by_text("10 load balancers")).to_be_visible()
    page.get_by_label("Search").fill("09731")
    expect(page.get_by_text("1 load balancer", exact=True)).to_be_visible()
    assert page.url.endswith("#/loadbalancers?q=09731")
    page.get_by_role("link", name="lb-09731").click()
    expect(page.get_by_role("heading", level=1, name="lb-09731")).to_be_visible()
    page.go_back()
    expect(page.get_by_label("Search")).to_have_value("09731")
    page.go_back()
    expect(page.get_by_text("10,000 load balancers")).to_be_visible()
    expect(page.get_by_label("Search")).to_have_value("")


def test_pages_filters_and_order_are_in_the_url(window: Window) -> None:
    page = window.page
    window.go("loadbalancers?environment=prod&group_number=2&sort=name:desc")
    first = page.get_by_role("row").nth(1)
    expect(first).to_contain_text("lb-09999")
    expect(page.get_by_label("Device group")).to_have_value("2")
    expect(page.get_by_role("columnheader", name="Name")).to_have_attribute("aria-sort", "descending")
    page.get_by_role("link", name="Next").click()
    expect(first).to_contain_text("lb-09909")
    deep = page.url
    page.get_by_role("link", name="Previous").click()
    expect(first).to_contain_text("lb-09999")
    page.goto("about:blank")
    page.goto(deep)
    expect(first).to_contain_text("lb-09909")
    page.get_by_role("columnheader", name="Name").get_by_role("link").click()
    expect(first).to_contain_text("lb-00040")
    page.get_by_label("Operating").select_option("ONLINE")
    expect(page.get_by_text("None is like that.")).to_be_visible()
    page.get_by_role("link", name="Clear").click()
    expect(page.get_by_text("10,000 load balancers")).to_be_visible()
    window.check_accessibility()


def test_held_load_balancers_are_found(window: Window) -> None:
    window.go("loadbalancers")
    window.page.get_by_label("Switched over").select_option("true")
    expect(window.page.get_by_text("1 load balancer", exact=True)).to_be_visible()
    expect(window.row("lb-00042")).to_contain_text("held")


def test_values_that_are_not_allowed_are_told_with_what_is(window: Window) -> None:
    window.go("loadbalancers?provisioning_status=BROKEN")
    expect(window.page.get_by_role("alert")).to_contain_text("Allowed: ACTIVE")


def test_the_overview_is_not_good_when_nobody_is_served(window: Window) -> None:
    page = window.page
    window.go()
    expect(page.get_by_text("10,000 of 10,000 load balancers are not ONLINE")).to_be_visible()
    expect(page.get_by_text("Nothing is wrong.")).to_have_count(0)
    operating = page.get_by_role("region", name="Operating: what clients get")
    expect(operating.get_by_role("link", name="OFFLINE 10,000")).to_be_visible()
    window.check_accessibility()
    operating.get_by_role("link", name="OFFLINE 10,000").click()
    expect(page.get_by_label("Operating")).to_have_value("OFFLINE")


def test_a_phone_shows_load_balancers_one_below_the_other(window: Window) -> None:
    window.page.set_viewport_size({"width": 390, "height": 844})
    window.go("loadbalancers?q=lb-0973")
    expect(window.page.get_by_text("10 load balancers")).to_be_visible()
    window.does_not_overflow()
    window.check_accessibility()
