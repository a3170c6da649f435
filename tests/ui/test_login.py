"""Who logs in how, what the page says of it, and what it keeps."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

import evenkeel
from benchmarks.dashboard import start_controller
from tests.ui.conftest import Open
from tests.ui.looking import Window
from tests.ui.world import PROJECT, STRANGER, STRANGER_PASSWORD, USER, World, finished

DOCUMENTATION = "https://docs.example.org/even-keel/"
KEYSTONE = {
    "identity": {"kind": "keystone"},
    "keystone_authtoken": {"www_authenticate_uri": "http://127.0.0.1:1", "auth_type": "none"},
}

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def open_controller(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    """A window on a controller of its own with these sections."""
    ends = []

    def opened(sections: dict[str, dict[str, object]]) -> Window:
        workspace, url, _ = finished(start_controller(tmp_path, f"sqlite:///{tmp_path / 'empty.db'}", sections))
        context = browser.new_context()
        ends.extend([context.close, *(process.stop for process in workspace.processes.values())])
        return Window(context.new_page(), url, tmp_path)

    yield opened
    for end in ends:
        end()


def test_a_controller_with_keystone_offers_a_token_and_no_password(open_controller: Open) -> None:
    window = open_controller(KEYSTONE)
    page = window.page
    page.goto(f"{window.url}/ui/")
    expect(page.get_by_label("Keystone token")).to_be_visible()
    expect(page.get_by_label("Password")).to_have_count(0)
    expect(page.get_by_text("openstack token issue")).to_be_visible()
    window.check_accessibility()


def test_a_controller_behind_a_gateway_offers_no_form(open_controller: Open) -> None:
    window = open_controller({"identity": {"kind": "trusted_headers"}})
    page = window.page
    page.goto(f"{window.url}/ui/")
    expect(page.get_by_text("This controller is behind a gateway")).to_be_visible()
    expect(page.get_by_role("textbox")).to_have_count(0)
    expect(page.get_by_role("button", name="Log in")).to_have_count(0)
    window.check_accessibility()


def test_the_configured_documentation_is_linked(open_controller: Open) -> None:
    window = open_controller({"DEFAULT": {"documentation_url": DOCUMENTATION}})
    window.go()
    link = window.page.get_by_role("link", name="Documentation")
    expect(link).to_have_attribute("href", DOCUMENTATION)
    expect(window.page.get_by_text("No authentication")).to_be_visible()


def test_user_without_a_reading_role_is_shown_the_roles_that_may_read(world: World, open_page: Open) -> None:
    window = open_page(world)
    page = window.page
    page.goto(f"{window.url}/ui/")
    window.log_in(STRANGER, STRANGER_PASSWORD)
    told = page.get_by_role("alert")
    expect(told).to_contain_text(f"{STRANGER} is logged in, but has only the role load-balancer_quota_admin")
    expect(told).to_contain_text("It takes one of load-balancer_observer")
    window.check_accessibility()
    window.log_in()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()


def test_a_deep_link_waits_for_the_login(world: World, open_page: Open) -> None:
    window = open_page(world)
    page = window.page
    page.goto(f"{window.url}/ui/#/loadbalancers?q=website&operating_status=ONLINE")
    window.log_in()
    expect(page.get_by_role("heading", name="Load balancers")).to_be_visible()
    expect(page.get_by_label("Search")).to_have_value("website")
    expect(page.get_by_label("Operating")).to_have_value("ONLINE")


def test_bar_shows_the_version_the_user_and_the_roles(world: World, open_page: Open) -> None:
    window = open_page(world)
    window.go()
    bar = window.page.get_by_role("banner")
    expect(bar).to_contain_text(evenkeel.__version__)
    caller = bar.locator(".caller")
    expect(caller).to_contain_text(USER)
    expect(caller).to_contain_text("admin")
    expect(caller).to_have_attribute("title", f"Roles: admin. Project: {PROJECT}.")
    expect(bar.get_by_role("link", name="API description")).to_have_attribute("href", "../openapi.json")
    icon = window.page.locator('link[rel="icon"]')
    assert str(icon.get_attribute("href")).startswith("data:image/svg+xml,")
    drawn = bar.locator("img.logo").evaluate("image => image.complete && image.naturalWidth > 0")
    assert drawn  # the policy lets it


def test_the_chosen_theme_is_kept_and_the_systems_one_is_followed(world: World, open_page: Open) -> None:
    window = open_page(world, dark=True)
    page = window.page
    window.go()

    def colour() -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    dark = colour()
    theme = page.get_by_label("Theme")
    expect(theme).to_have_value("system")
    theme.select_option("light")
    light = colour()
    assert light != dark
    window.check_accessibility()
    page.reload()
    expect(theme).to_have_value("light")
    assert colour() == light
    theme.select_option("system")
    assert colour() == dark
    page.emulate_media(color_scheme="light")
    assert colour() == light
