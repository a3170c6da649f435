"""Device groups with hundreds of tenants: lines are folded, opened, ordered, pointed at and followed."""

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.ui.conftest import LOAD_BALANCERS
from tests.ui.looking import Window

GROUPS = 2
TENANTS = LOAD_BALANCERS // 10 // GROUPS
SHOWN = 400

ENDS = """lines => lines.map(line => [0, line.getTotalLength()].map(at => {
    const point = line.getPointAtLength(at)
    return [Math.round(point.x), Math.round(point.y)]
}))"""
RIGHT_SIDES = """boxes => boxes.map(box => {
    const left = box.getCTM().e - box.ownerSVGElement.getCTM().e
    return Math.round(left + box.querySelector("rect").width.baseVal.value)
})"""

pytestmark = pytest.mark.timeout(600)


def group(window: Window, number: int = 1) -> Locator:
    return window.page.locator("figure.topology").nth(number - 1)


def test_a_group_with_many_tenants_is_folded_and_opens_by_click_and_link(window: Window) -> None:
    page = window.page
    window.go("topology")
    lines = group(window).locator("text.shard")
    expect(lines).to_have_count(4)
    expect(lines.first).to_contain_text(re.compile(r"125 tenants · epochs to \d"))
    page.get_by_role("button", name=f"Show all {TENANTS} tenants").first.click()
    expect(lines).to_have_count(SHOWN)
    expect(lines.first).to_contain_text("epoch")
    expect(group(window)).to_contain_text(f"{TENANTS - SHOWN} more: evenkeel shard list")
    assert page.url.endswith("#/topology?open=prod%2F1")
    page.reload()
    expect(lines).to_have_count(SHOWN)
    expect(group(window, 2).locator("text.shard")).to_have_count(4)
    page.get_by_role("button", name="Fold").click()
    expect(lines).to_have_count(4)
    page.go_back()
    expect(lines).to_have_count(SHOWN)


def test_lines_go_from_agents_to_devices_without_crossing(window: Window) -> None:
    window.go("topology?open=prod%2F1")
    expect(group(window).locator("text.shard")).to_have_count(SHOWN)
    ends = group(window).locator("path.owner").evaluate_all(ENDS)
    rights = group(window).locator("g.box").evaluate_all(RIGHT_SIDES)
    frame = float(group(window).locator("rect.frame").get_attribute("x") or "")
    assert {begin[0] for begin, _ in ends} <= set(rights)
    assert {end[0] for _, end in ends} == {round(frame)}
    begins, arrivals = [begin[1] for begin, _ in ends], [end[1] for _, end in ends]
    assert begins == sorted(begins) and arrivals == sorted(arrivals)
    assert len(set(arrivals)) == len(arrivals)


def test_line_under_the_pointer_is_highlighted_and_links_to_its_devices(window: Window) -> None:
    page = window.page
    window.go("topology")
    figure = group(window)
    figure.locator("g.box", has_text="net-001").hover()
    expect(figure.locator("p.read")).to_have_text(re.compile(r"^net-001: \d+ shards"))
    expect(figure.locator("path.owner.lit")).to_have_count(1)
    expect(figure.locator("path.owner.faded")).to_have_count(3)
    figure.locator("text.shard").first.hover()
    expect(figure.locator("p.read")).to_contain_text("125 tenants, epochs to")
    figure.locator("g.box", has_text="192.0.2.01").click()
    expect(page.get_by_role("heading", name="Devices")).to_be_visible()
    page.go_back()
    figure.locator("g.box", has_text="net-001").click()
    expect(page.get_by_role("heading", name="net-001")).to_be_visible()


def test_a_tenants_line_leads_to_its_load_balancers(window: Window) -> None:
    page = window.page
    window.go("topology?open=prod%2F1")
    lines = group(window).locator("text.shard")
    expect(lines).to_have_count(SHOWN)
    lines.first.click()
    expect(page.get_by_text("10 load balancers")).to_be_visible()
    expect(page.get_by_label("Device group")).to_have_value("1")


def test_a_phone_shows_the_topology_from_top_to_bottom(window: Window) -> None:
    window.page.set_viewport_size({"width": 390, "height": 844})
    window.go("topology")
    figure = group(window)
    expect(figure.locator("text.shard")).to_have_count(4)
    window.does_not_overflow()
    tops = [
        figure.locator("g.box", has_text=text).first.bounding_box()
        for text in ("controller", "message bus", "net-000", "net-003", "192.0.2.01")
    ]
    heights = [box["y"] for box in tops if box]
    assert len(heights) == len(tops) and heights == sorted(heights)
    letters = figure.locator("text.shard").first.evaluate("text => parseFloat(getComputedStyle(text).fontSize)")
    width = figure.locator("svg").evaluate("svg => svg.getBoundingClientRect().width / svg.viewBox.baseVal.width")
    assert letters * width >= 12  # not the wide picture made small
    window.check_accessibility()
    window.shot("dashboard-phone-topology")
