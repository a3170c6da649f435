"""What operators do with the dashboard, in a real browser over a running system."""

import contextlib
import re
import signal

import httpx
import pytest
from playwright.sync_api import expect

from evenkeel.demo.cluster import agent_name, controller_name
from tests.ui.conftest import Open
from tests.ui.world import (
    HOSTS,
    LBAAS,
    OPERATORS,
    PROJECT,
    READER,
    READER_PASSWORD,
    TENANT,
    TENANT_PASSWORD,
    USER,
    World,
)

VIEWS = (
    "",
    "topology",
    "loadbalancers",
    "agents",
    "devices",
    "controllers",
    "environments",
    "certificates",
    "networks",
    "maintenance",
    "events",
)

pytestmark = pytest.mark.timeout(600)


def test_wrong_password_is_reported_and_the_right_one_logs_in(world: World, open_page: Open) -> None:
    window = open_page(world)
    window.page.goto(f"{window.url}/ui/")
    expect(window.page.get_by_label("Password")).to_be_visible()
    expect(window.page.get_by_label("Keystone token")).to_have_count(0)
    window.log_in(password="wrong")
    expect(window.page.get_by_role("alert")).to_have_text("The name or the password is wrong.")
    window.check_accessibility()
    window.shot("dashboard-login")
    window.log_in()
    expect(window.page.get_by_role("heading", name="Overview")).to_be_visible()
    window.page.reload()
    expect(window.page.get_by_role("heading", name="Overview")).to_be_visible()  # the tab knows the login
    window.page.get_by_role("button", name="Log out").click()
    expect(window.page.get_by_role("button", name="Log in", exact=True)).to_be_visible()


def test_read_only_role_sees_permitted_views_and_is_shown_the_roles_of_others(world: World, open_page: Open) -> None:
    window = open_page(world)
    page = window.page
    page.goto(f"{window.url}/ui/")
    window.log_in(READER, READER_PASSWORD)
    window.loaded()
    expect(page.get_by_text("Nothing is wrong.")).to_be_visible()
    needed = "Needs the role evenkeel_operator or admin or load-balancer_admin."
    expect(page.get_by_text(needed)).to_be_visible()  # in the place of the events
    expect(page.get_by_role("alert")).to_have_count(0)
    window.check_accessibility()
    for view in ("Topology", "Agents", "Devices", "Controllers", "Environments"):
        window.view(view)
        expect(page.get_by_text(re.compile("^Needs the role"))).to_have_count(0)
    host = HOSTS[0]
    window.view("Agents")
    page.get_by_role("link", name=host, exact=True).click()
    expect(page.get_by_role("heading", name=host)).to_be_visible()
    expect(page.get_by_text(needed)).to_be_visible()  # of its load balancers
    expect(page.get_by_role("button", name=f"Drain {host}")).to_have_count(0)
    expect(page.get_by_text("Actions need the role evenkeel_operator")).to_be_visible()
    window.view("Load balancers")
    expect(page.get_by_text(re.compile("^Needs the role .*load-balancer_global_observer"))).to_be_visible()
    window.view("Events")
    expect(page.get_by_text(needed)).to_be_visible()


def test_tenant_sees_its_load_balancers_and_is_shown_the_roles_of_other_views(world: World, open_page: Open) -> None:
    window = open_page(world)
    page = window.page
    page.goto(f"{window.url}/ui/")
    window.log_in(TENANT, TENANT_PASSWORD)
    window.loaded()
    expect(page.get_by_text(re.compile("^Needs the role evenkeel_agent or"))).to_have_count(2)
    window.view("Load balancers")
    page.get_by_role("link", name="website").click()
    window.loaded()
    expect(page.locator("dl.facts")).to_contain_text("ACTIVE")
    expect(page.get_by_text(re.compile("^Needs the role evenkeel_operator or"))).to_have_count(6)
    expect(page.get_by_role("alert")).to_have_count(0)
    window.check_accessibility()


def test_requests_times_to_active_and_traffic_are_on_the_overview(world: World, open_page: Open) -> None:
    def is_known() -> bool:
        with contextlib.suppress(httpx.TransportError):  # the stand-in cuts connections when a virtual server changes
            httpx.get(world.site, timeout=60.0)
        world.rename("for the overview")
        activity = world.ask("GET", f"{OPERATORS}/activity", controller=1)["activity"]
        points = activity["points"]
        served = [point for point in points if point["connections"]]
        return len(served) > 2 and any(point["time_to_active_seconds"] is not None for point in points)

    world.until(is_known)
    window = open_page(world, height=900)
    window.go()
    section = window.page.get_by_role("region", name="API requests, time to ACTIVE and traffic")
    expect(section.locator("figure.chart")).to_have_count(4)
    for title in ("API requests", "Time to ACTIVE", "Traffic", "Connections"):
        chart = section.locator("figure.chart").filter(has=window.page.get_by_text(title, exact=True))
        expect(chart.get_by_role("status")).to_have_text(re.compile(r"(now|last, \d\d:\d\d): .*\d"))
    requests = section.locator("figure.chart").first
    requests.get_by_role("img").focus()
    window.page.keyboard.press("ArrowLeft")
    expect(requests.get_by_role("status")).to_have_text(re.compile(r"^\d\d:\d\d UTC: answered \d.* failed 0"))
    section.get_by_role("link", name="24 h").click()
    expect(section.get_by_role("link", name="24 h")).to_have_attribute("aria-current", "true")
    expect(section.get_by_role("img", name=re.compile("^API requests over the last 24 h"))).to_be_visible()
    window.page.go_back()
    expect(section.get_by_role("link", name="1 h", exact=True)).to_have_attribute("aria-current", "true")
    window.check_accessibility()
    window.shot("dashboard-overview")


def test_a_broken_load_balancer_is_found_with_its_reason(world: World, open_page: Open) -> None:
    window = open_page(world)
    window.go()
    expect(window.page.get_by_text("Nothing is wrong.")).to_be_visible()
    control = world.cluster.emulator.control
    control("POST", "/faults", {"kind": "refuse_transaction"})
    try:
        world.change()
        problems = window.page.get_by_role("region", name="Problems")
        expect(problems.get_by_role("heading", level=3)).to_contain_text("in ERROR")
        expect(problems.locator("code")).to_have_text("evenkeel loadbalancer list --status ERROR")
        expect(problems.get_by_role("link", name="load balancers in ERROR")).to_have_attribute(
            "href", "#/loadbalancers?provisioning_status=ERROR"
        )
        problems.get_by_role("button", name=re.compile("^Copy evenkeel")).click()
        expect(problems.get_by_text("Copied")).to_be_visible()
        expect(problems.get_by_text("Copied")).to_have_count(0)
        window.shot("dashboard-problems")
        window.check_accessibility()
        window.view("Load balancers")
        window.page.get_by_label("Provisioning").select_option("ERROR")
        expect(window.row("website")).to_contain_text("ERROR")
        window.page.get_by_role("link", name="website").click()
        history = window.page.get_by_role("list", name="Revisions")
        expect(history.get_by_role("listitem").first).to_contain_text("Failed")
    finally:
        control("DELETE", "/faults")
    facts = window.page.locator("dl.facts")
    expect(facts).to_contain_text("ACTIVE")


def test_l7_rule_is_reached_by_links_from_a_load_balancer(world: World, open_page: Open) -> None:
    window = open_page(world)
    window.go("loadbalancers")
    search = window.page.get_by_label("Search")
    search.fill("nothing like it")
    expect(window.page.get_by_text("None is like that.")).to_be_visible()
    search.fill("website")
    window.page.get_by_role("link", name="website").click()
    window.loaded()
    facts = window.page.locator("dl.facts")
    expect(facts).to_contain_text(re.compile(r"HTTP \d+ \(web\)"))
    expect(facts).to_contain_text("prod, device group 1")
    facts.get_by_role("button", name="Copy the id").click()
    expect(facts.get_by_text("Copied")).to_be_visible()
    expect(facts.get_by_text("Copied")).to_have_count(0)
    window.shot("dashboard-load-balancer")
    for link, heading in (
        (re.compile("^web$"), "listener web"),
        (re.compile("^servers$"), "pool servers"),
        (re.compile("^web-1 "), "member web-1"),
        (re.compile("^alive$"), "health monitor alive"),
        (re.compile("^moved$"), "L7 policy moved"),
        (re.compile("^PATH"), "L7 rule"),
    ):
        window.page.locator(".tree").first.get_by_role("link", name=link).first.click()
        expect(window.page.get_by_role("heading", level=1)).to_contain_text(heading)
        expect(window.page.locator(".also").filter(has_text="openstack loadbalancer")).to_have_count(1)
        window.page.get_by_role("link", name="The load balancer").click()
        window.loaded()


def test_drained_agent_gets_its_shards_back_when_undrained(world: World, open_page: Open) -> None:
    host = world.acting_host()
    window = open_page(world)
    window.go("agents")
    window.page.get_by_role("button", name=f"Drain {host}", exact=True).click()
    dialog = window.page.get_by_role("dialog")
    expect(dialog).to_contain_text(f"evenkeel agent drain {host}")
    window.shot("dashboard-drain")
    dialog.get_by_role("button", name="Cancel").click()
    assert world.agent(host)["admin_state_up"]  # asked, not done
    window.confirmed(f"Drain {host}")
    expect(window.row(host)).to_contain_text("drained")
    world.until(lambda: world.acting_host() not in ("", host))
    window.confirmed(f"Undrain {host}")
    expect(window.row(host)).to_contain_text("up")
    world.until(lambda: world.acting_host() == host)


def test_a_takeover_is_seen_as_the_line_moves_and_the_epoch_grows(world: World, open_page: Open) -> None:
    host = world.acting_host()
    window = open_page(world, height=440)
    window.go("topology")
    line = window.page.locator("text.shard.tenant")
    expect(line).to_have_attribute("data-agent", host)
    expect(line).to_contain_text(PROJECT)
    expect(window.page.locator("text.shard.common")).to_have_count(1)
    before = _epoch(line.text_content())
    window.shot("takeover-1-before")
    world.cluster.kill(agent_name(host))
    expect(window.page.locator("g.box.silent")).not_to_have_count(0)
    expect(line).not_to_have_attribute("data-agent", re.compile(f"^({host}|no agent)$"))
    assert _epoch(line.text_content()) > before
    expect(window.page.get_by_text(re.compile(rf"moved from {host} to .*, epoch \d+"))).to_be_visible()
    window.shot("takeover-2-taken-over")
    world.until(lambda: world.acting_host() not in ("", host))
    world.start_again(agent_name(host))
    expect(line).to_have_attribute("data-agent", host)
    window.shot("takeover-3-home-again")


def _epoch(text: str | None) -> int:
    found = re.search(r"epoch (\d+)", text or "")
    assert found is not None, text
    return int(found[1])


def test_events_are_followed_through_a_restart_of_the_controller(world: World, open_page: Open) -> None:
    window = open_page(world, width=1000, height=600)
    window.go("events")
    other = next(host for host in HOSTS if host != world.acting_host())
    list_ = window.page.locator("ol.events")
    world.cluster.kill(controller_name(1))
    expect(window.page.get_by_role("alert").first).to_contain_text("trying again")
    # by the other controller, while this one is away
    world.ask("PUT", f"{OPERATORS}/agents/{world.agent(other)['id']}/drain", controller=2)
    world.start_again(controller_name(1))
    expect(list_).to_contain_text(re.compile(rf"agent {other} \([^)]+\) was drained by {USER}"))
    expect(window.page.get_by_text("trying again")).to_have_count(0)
    world.ask("PUT", f"{OPERATORS}/agents/{world.agent(other)['id']}/undrain", controller=2)
    expect(list_).to_contain_text(re.compile(rf"agent {other} \([^)]+\) was undrained by {USER}"))
    texts = list_.locator("li").all_text_contents()
    assert len(texts) == len(set(texts))  # none twice
    window.shot("dashboard-events")


def test_halted_environment_is_resumed_by_an_operator(world: World, open_page: Open) -> None:
    names = [agent_name(host) for host in HOSTS]
    window = open_page(world)
    window.go("environments")
    expect(window.row("prod")).to_contain_text("closed")
    world.freeze(*names)
    try:
        expect(window.row("prod")).to_contain_text("halted")
        window.shot("dashboard-halted")
        window.page.goto(f"{window.url}/ui/#/loadbalancers/{world.load_balancer_id}")
        expect(window.page.locator(".tree").first).to_contain_text("ONLINE when last seen")
        expect(window.page.locator(".tree").first).not_to_contain_text("● ONLINE")
        window.view("Overview")
        expect(window.page.get_by_role("region", name="Problems")).to_contain_text("environment prod is halted")
        window.check_accessibility()
        window.view("Environments")
        window.confirmed("Resume prod")
        expect(window.row("prod")).not_to_contain_text("halted")
    finally:
        for name in names:
            world.cluster.kill(name, signal.SIGCONT)


def test_content_of_devices_is_compared_with_the_desired_one(world: World, open_page: Open) -> None:
    window = open_page(world)
    window.go(f"loadbalancers/{world.load_balancer_id}")
    button = window.page.get_by_role("button", name="Compare with the devices")
    button.click()
    expect(window.page.get_by_text("no difference").first).to_be_visible()
    # what a pass would change is there for as long as the agent cannot write
    control = world.cluster.emulator.control
    control("POST", "/faults", {"kind": "refuse_transaction"})
    try:
        world.change()
        world.until(lambda: world.status(world.load_balancer_id) == "ERROR")
        button.click()
        differences = window.page.get_by_role("region", name=re.compile("Differences on")).first
        expect(differences).to_contain_text("connectionLimit")
        window.to_top("Desired and observed")
        window.check_accessibility()
        window.shot("dashboard-difference")
    finally:
        control("DELETE", "/faults")
    world.until(lambda: world.status(world.load_balancer_id) == "ACTIVE")
    button.click()
    expect(window.page.get_by_text("no difference").first).to_be_visible()


def test_history_of_a_load_balancer_names_the_requester_and_the_applying_agent(world: World, open_page: Open) -> None:
    window = open_page(world, height=620)
    window.go(f"loadbalancers/{world.load_balancer_id}")
    world.rename("for the history")
    newest = window.page.get_by_role("list", name="Revisions").get_by_role("listitem").first
    revision = world.hosting()["revision"]
    expect(newest).to_contain_text(f"Revision {revision}")
    expect(newest).to_contain_text("Asked for by olga")
    expect(newest).to_contain_text("req-")
    expect(newest).to_contain_text(f"Applied by {world.acting_host()}, epoch")
    window.to_top("History")
    window.shot("dashboard-history")


def test_the_traffic_of_a_load_balancer_is_drawn(world: World, open_page: Open) -> None:
    path = f"{OPERATORS}/loadbalancers/{world.load_balancer_id}/series"

    def has_traffic() -> bool:
        for _ in range(20):
            with contextlib.suppress(httpx.TransportError):  # as above
                httpx.get(world.site, timeout=60.0)
        points = world.ask("GET", path, controller=1)["points"]
        return len(points) > 2 and points[-1]["connections"] > 0

    world.until(has_traffic)
    window = open_page(world, height=620)
    window.go(f"loadbalancers/{world.load_balancer_id}")
    pictures = window.page.locator("figure.chart")
    expect(pictures).to_have_count(5)
    expect(pictures.first).to_contain_text("Connections per second")
    window.check_accessibility()
    window.to_top("website")
    window.shot("dashboard-traffic")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_each_view_is_accessible(world: World, open_page: Open, dark: bool) -> None:
    window = open_page(world, height=520, dark=dark)
    window.go()
    (listener,) = world.ask("GET", f"{LBAAS}/listeners")["listeners"]
    details = (
        f"loadbalancers/{world.load_balancer_id}",
        f"loadbalancers/{world.load_balancer_id}/listener/{listener['id']}",
        f"agents/{world.agent(HOSTS[0])['id']}",
    )
    for view in (*VIEWS, *details):
        window.page.goto(f"{window.url}/ui/#/{view}")
        window.loaded()
        window.check_accessibility()
        if dark and view in ("", "topology"):
            window.shot(f"dashboard-{view or 'overview'}-dark")
        if not dark and view in ("agents", "devices", "controllers"):
            window.shot(f"dashboard-{view}")


def test_a_phone_shows_every_view_without_scrolling_sideways(world: World, open_page: Open) -> None:
    window = open_page(world, width=360, height=740)
    window.go()
    expect(window.page.locator(".panel").first).to_be_visible()
    window.shot("dashboard-phone")
    for view in (*VIEWS, f"loadbalancers/{world.load_balancer_id}"):
        window.page.goto(f"{window.url}/ui/#/{view}")
        window.loaded()
        window.does_not_overflow()
        window.check_accessibility()
    window.shot("dashboard-phone-load-balancer")


def test_the_keyboard_alone_drains_an_agent(world: World, open_page: Open) -> None:
    host = world.acting_host()
    window = open_page(world)
    window.go()
    press = window.page.keyboard.press

    def focused() -> str:
        return str(
            window.page.evaluate(
                "document.activeElement.getAttribute('aria-label') || document.activeElement.innerText"
            )
        )

    def tab_to(name: str) -> None:
        for _ in range(60):
            press("Tab")
            if focused() == name:
                return
        raise AssertionError(f"{name} is not reached by Tab; last was {focused()!r}")

    tab_to("Agents")
    press("Enter")
    expect(window.page.get_by_role("heading", name="Agents")).to_be_visible()
    tab_to(f"Drain {host}")
    press("Enter")
    expect(window.page.get_by_role("dialog")).to_be_visible()
    press("Escape")
    expect(window.page.locator("dialog")).to_have_count(0)  # removed, not only closed: the next Enter opens a new one
    assert focused() == f"Drain {host}"  # where it was
    press("Enter")
    tab_to("Drain")
    press("Enter")
    expect(window.row(host)).to_contain_text("drained")
    tab_to(f"Undrain {host}")
    press("Enter")
    tab_to("Undrain")
    press("Enter")
    expect(window.row(host)).to_contain_text("up")
