"""One of ten thousand load balancers is found, and what was asked stays in the URL."""

import re

import pytest
from playwright.sync_api import expect

from tests.ui.looking import Window

pytestmark = pytest.mark.timeout(600)


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


def test_a_move_is_planned_before_it_is_confirmed(window: Window) -> None:
    page = window.page
    window.go("loadbalancers?q=lb-09731")
    page.get_by_role("link", name="lb-09731").click()
    page.get_by_role("button", name="Move lb-09731").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("the new devices get everything and confirm it")
    expect(dialog.get_by_text("Asking for the plan")).to_have_count(0)
    expect(dialog.locator(".plan")).to_contain_text("lb-09731")
    expect(dialog).to_contain_text(re.compile("evenkeel move .* --to-group"))
    window.check_accessibility()
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_have_count(0)


def test_held_load_balancers_are_found(window: Window) -> None:
    window.go("loadbalancers")
    window.page.get_by_label("Imported, held").select_option("true")
    expect(window.page.get_by_text("1 load balancer", exact=True)).to_be_visible()
    expect(window.row("lb-00042")).to_contain_text("held")


def test_invalid_values_are_reported_with_the_allowed_ones(window: Window) -> None:
    window.go("loadbalancers?provisioning_status=BROKEN")
    expect(window.page.get_by_role("alert")).to_contain_text("Allowed: ACTIVE")


def test_overview_reports_that_all_load_balancers_are_offline(window: Window) -> None:
    page = window.page
    window.go()
    expect(page.get_by_text("10,000 of 10,000 load balancers are not ONLINE")).to_be_visible()
    expect(page.get_by_text("Nothing is wrong.")).to_have_count(0)
    operating = page.get_by_role("region", name="Operating: as agents observe it")
    expect(operating.get_by_role("link", name="OFFLINE 10,000")).to_be_visible()
    window.check_accessibility()
    operating.get_by_role("link", name="OFFLINE 10,000").click()
    expect(page.get_by_label("Operating")).to_have_value("OFFLINE")


def test_a_phone_shows_load_balancers_as_cards(window: Window) -> None:
    page = window.page
    page.set_viewport_size({"width": 390, "height": 844})
    window.go("loadbalancers")
    page.get_by_label("Search").fill("lb-0973")
    expect(page.get_by_text("10 load balancers")).to_be_visible()
    window.does_not_overflow()
    window.check_accessibility()
    cards = page.locator("tbody tr")
    first, second = cards.nth(0).bounding_box(), cards.nth(1).bounding_box()
    assert first and second and first["y"] + first["height"] < second["y"]  # with space between them
    expect(page.locator("thead")).to_be_hidden()
    window.shot("dashboard-phone-load-balancers")
    page.get_by_role("link", name="lb-09731").click()
    expect(page.get_by_role("heading", level=1, name="lb-09731")).to_be_visible()
    window.does_not_overflow()


def test_the_keyboard_alone_finds_a_load_balancer_and_comes_back(window: Window) -> None:
    page = window.page
    window.go()
    press = page.keyboard.press
    press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.get_by_role("navigation", name="Views").get_by_role("link", name="Load balancers").focus()
    press("Enter")
    expect(page.get_by_role("heading", name="Load balancers")).to_be_visible()
    expect(page.get_by_role("main")).to_be_focused()
    press("Tab")
    expect(page.get_by_label("Search")).to_be_focused()
    page.keyboard.type("09731")
    found = page.get_by_role("link", name="lb-09731")
    expect(found).to_be_visible()
    expect(page.get_by_text("1 load balancer", exact=True)).to_be_visible()
    for _ in range(30):
        press("Tab")
        if found.evaluate("element => element === document.activeElement"):
            break
    press("Enter")
    expect(page.get_by_role("heading", level=1, name="lb-09731")).to_be_visible()
    page.go_back()
    expect(page.get_by_label("Search")).to_have_value("09731")
