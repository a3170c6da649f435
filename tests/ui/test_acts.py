"""Operators' acts from the dashboard: each says what it does, asks once, and is followed until it is seen done."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import FilePayload, expect

from tests.key_managers.authority import INTERMEDIATE, LEAF
from tests.ui.acting import ask_for, confirm, is_followed
from tests.ui.conftest import Open
from tests.ui.world import HOSTS, LBAAS, OPERATORS, PROJECT, READER, READER_PASSWORD, USER, World

pytestmark = pytest.mark.timeout(600)


def test_drain_is_followed_until_it_is_done_and_names_the_operator(world: World, open_page: Open) -> None:
    host = world.acting_host()
    window = open_page(world)
    window.go("agents")
    dialog = ask_for(window, f"Drain {host}")
    expect(dialog).to_contain_text("Hand an agent's shards over to other agents")
    expect(dialog).to_contain_text(f"evenkeel agent drain {host} --wait")
    window.check_accessibility()
    window.shot("dashboard-act")
    confirm(window)
    is_followed(window, f"Drain {host}", f"{host} is drained, it serves no shard")
    assert world.agent(host)["acting_shards"] == 0
    ask_for(window, f"Undrain {host}")
    confirm(window)
    is_followed(window, f"Undrain {host}", f"{host} is up, its shards are home")
    window.view("Events")
    events = window.page.locator(".events li")
    expect(events.filter(has_text=f"was drained by {USER}").first).to_contain_text(host)


def test_a_phone_shows_an_act_and_its_progress(world: World, open_page: Open) -> None:
    host = world.acting_host()
    window = open_page(world, width=390, height=844)
    window.go(f"agents/{world.agent(host)['id']}")
    ask_for(window, f"Drain {host}")
    window.does_not_overflow()
    window.check_accessibility()
    window.shot("dashboard-phone-act")
    window.page.keyboard.press("Escape")
    expect(window.page.get_by_role("dialog")).to_have_count(0)
    ask_for(window, f"Rebind {host}")
    window.page.get_by_role("button", name="Cancel").click()
    ask_for(window, f"Drain {host}")
    confirm(window)
    window.does_not_overflow()
    is_followed(window, f"Drain {host}", f"{host} is drained")
    ask_for(window, f"Undrain {host}")
    confirm(window)
    is_followed(window, f"Undrain {host}", f"{host} is up")


def test_read_only_user_gets_no_buttons_and_is_shown_the_required_role(world: World, open_page: Open) -> None:
    window = open_page(world)
    page = window.page
    page.goto(f"{window.url}/ui/#/agents/{world.agent(HOSTS[0])['id']}")
    window.log_in(READER, READER_PASSWORD)
    window.loaded()
    expect(page.get_by_text("Actions need the role evenkeel_operator or admin")).to_be_visible()
    for view in ("Agents", "Environments", "Maintenance"):
        window.view(view)
        expect(page.get_by_text(re.compile("^Actions need the role")).first).to_be_visible()
        expect(page.get_by_role("button", name=re.compile("^(Drain|Change|Delete|Create|Begin|Move)"))).to_have_count(0)
    window.check_accessibility()


def test_an_address_pool_is_created_changed_and_deleted(world: World, open_page: Open) -> None:
    window = open_page(world)
    page = window.page
    window.go("networks")
    dialog = ask_for(window, "Create address pool")
    dialog.get_by_label("Name").fill("spare")
    dialog.get_by_label("CIDR").fill("192.0.2.0")
    dialog.locator("button.confirm").click()
    expect(dialog.get_by_role("alert")).to_contain_text("cidr")
    dialog.get_by_label("CIDR").fill("192.0.2.0/24")
    expect(dialog).to_contain_text("evenkeel subnet create spare --cidr 192.0.2.0/24")
    window.check_accessibility()
    confirm(window)
    is_followed(window, "Create address pool", r"VIPs from 192\.0\.2\.")
    dialog = ask_for(window, "Change spare")
    dialog.get_by_label("Addresses for devices").fill("192.0.2.250\n192.0.2.251-192.0.2.252")
    confirm(window)
    is_followed(window, "Change spare", "devices may have 192.0.2.250")
    expect(window.row("spare")).to_contain_text("192.0.2.251-192.0.2.252")
    ask_for(window, "Delete spare")
    confirm(window)
    is_followed(window, "Delete spare", "it is deleted")
    expect(window.row("spare")).to_have_count(0)
    window.check_accessibility()
    dialog = ask_for(window, "Delete web")
    dialog.locator("button.confirm").click()
    expect(dialog.get_by_role("alert")).to_be_visible()  # a load balancer uses it
    page.get_by_role("button", name="Cancel").click()


def test_a_network_and_an_environment_are_made_and_deleted(world: World, open_page: Open) -> None:
    window = open_page(world)
    window.go("networks")
    dialog = ask_for(window, "Declare network")
    dialog.get_by_label("Name").fill("blue")
    dialog.get_by_label("Physical network (flat, vlan)").fill("physnet")
    dialog.get_by_label("VLAN id, VNI or GRE key").fill("107")
    confirm(window)
    is_followed(window, "Declare network", "it is there")
    ask_for(window, "Delete blue")
    confirm(window)
    is_followed(window, "Delete blue", "it is deleted")
    window.view("Environments")
    dialog = ask_for(window, "Create environment")
    dialog.get_by_label("Name").fill("spare")
    dialog.get_by_label("Device driver").fill("noop")
    window.check_accessibility()
    confirm(window)
    is_followed(window, "Create environment", "it is there")
    dialog = ask_for(window, "Change spare")
    dialog.get_by_label("An agent that is up again gets its shards back").select_option("manual")
    confirm(window)
    is_followed(window, "Change spare", "failback manual")
    ask_for(window, "Delete spare")
    confirm(window)
    is_followed(window, "Delete spare", "it is deleted")


def test_a_load_balancer_is_applied_again_with_its_plan(world: World, open_page: Open) -> None:
    window = open_page(world)
    window.go(f"loadbalancers/{world.load_balancer_id}")
    dialog = ask_for(window, "Apply again website")
    expect(dialog).to_contain_text("Apply a load balancer again")
    expect(dialog.get_by_text("no difference").first).to_be_visible()
    window.check_accessibility()
    window.shot("dashboard-apply-again")
    confirm(window)
    is_followed(window, "Apply again website", r"revision \d+ is on the devices by host-\d")
    expect(window.page.get_by_text("No action is needed.")).to_be_visible()


def test_shard_gets_another_home_and_its_agent_is_declared_dead_and_alive_again(world: World, open_page: Open) -> None:
    host = world.acting_host()
    other = next(each for each in HOSTS if each != host)
    window = open_page(world)
    window.go(f"agents/{world.agent(host)['id']}")
    dialog = ask_for(window, f"Adopt partition of project {PROJECT[:8]}")
    expect(dialog.get_by_text("Asking for the plan")).to_have_count(0)
    expect(dialog).to_contain_text(f"evenkeel adopt {PROJECT} --environment prod --yes")
    dialog.get_by_role("button", name="Cancel").click()
    button = f"Move shard of project {PROJECT[:8]}"
    for source, target in ((host, other), (other, host)):
        window.page.goto("about:blank")
        window.go(f"agents/{world.agent(source)['id']}")
        dialog = ask_for(window, button)
        dialog.get_by_label("New home").select_option(world.agent(target)["id"])
        confirm(window)
        is_followed(window, button, f"{target} serves it, epoch")
    ask_for(window, f"Host is dead {other}")
    expect(window.page.get_by_role("dialog")).to_contain_text("Go on only if it is powered off")
    confirm(window)
    is_followed(window, f"Host is dead {other}", f"{other} is forced_down")
    ask_for(window, f"Host is not dead {other}")
    confirm(window)
    is_followed(window, f"Host is not dead {other}", f"{other} is up")


def test_an_irule_is_attached_to_a_listener_and_detached(world: World, open_page: Open) -> None:
    (listener,) = world.ask("GET", f"{LBAAS}/listeners")["listeners"]
    window = open_page(world)
    window.go(f"loadbalancers/{world.load_balancer_id}/listener/{listener['id']}")
    for irules, shown in (("/Common/_sys_https_redirect", "/Common/_sys_https_redirect"), ("", "None is attached.")):
        dialog = ask_for(window, "Set iRules")
        dialog.get_by_label("Paths on the devices").fill(irules)
        confirm(window)
        is_followed(window, "Set iRules", r"revision \d+ is on the devices")
        expect(window.page.get_by_text(shown, exact=True)).to_be_visible()
    window.check_accessibility()


def test_orphans_are_searched_for_and_a_new_history_begins(world: World, open_page: Open) -> None:
    window = open_page(world)
    window.go("maintenance")
    expect(window.page.get_by_text("None was made yet.")).to_be_visible()
    window.page.get_by_role("button", name="Look for orphans").click()
    expect(
        window.page.get_by_text("Devices hold nothing that the database does not know, by the last comparison.")
    ).to_be_visible()
    before = world.ask("GET", f"{OPERATORS}/database")["database"]["history_id"]
    ask_for(window, "Begin a new history")
    confirm(window)
    is_followed(window, "Begin a new history", "history .* has begun")
    assert world.ask("GET", f"{OPERATORS}/database")["database"]["history_id"] != before
    window.check_accessibility()


@pytest.fixture
def certificate(world: World) -> Iterator[FilePayload]:
    """A file with a certificate, its key and its intermediate, which is on no disk; what refers to it is removed
    afterwards.
    """
    content = LEAF.pem + INTERMEDIATE.pem + LEAF.key_pem()
    yield FilePayload(name="www.pem", mimeType="application/x-pem-file", buffer=content)
    for each in world.ask("GET", f"{LBAAS}/loadbalancers")["loadbalancers"]:
        if each["name"] == "secure":
            world.ask("DELETE", f"{LBAAS}/loadbalancers/{each['id']}?cascade=true")
            world.until(lambda: len(world.ask("GET", f"{LBAAS}/loadbalancers")["loadbalancers"]) == 1)


def test_a_certificate_is_added_shown_with_its_days_and_refreshed(
    world: World, open_page: Open, certificate: FilePayload
) -> None:
    window = open_page(world)
    page = window.page
    window.go("certificates")
    dialog = ask_for(window, "Add certificate")
    dialog.get_by_label("Project (id)").fill(PROJECT)
    dialog.get_by_label("Name", exact=True).fill("www")
    dialog.get_by_label("File: PEM, or PKCS#12 of a certificate").set_input_files(certificate)
    window.check_accessibility()
    confirm(window)
    is_followed(window, "Add certificate", f"directory://{PROJECT}/www, valid until")
    reference = f"directory://{PROJECT}/www"
    id_ = world.secure(reference)
    page.goto(f"{window.url}/ui/#/loadbalancers/{id_}")
    window.loaded()
    row = page.get_by_role("region", name="Certificates of this load balancer").get_by_role("row").nth(1)
    expect(row).to_contain_text(re.compile(r"\d+ years left"))
    assert "PRIVATE KEY" not in page.content()
    for listener in ("TERMINATED_HTTPS 443 (https)", "HTTP 8080 (plain)"):
        expect(page.get_by_role("heading", name=f"Listener {listener}")).to_be_visible()
    ask_for(window, f"Refresh {reference}")
    confirm(window)
    is_followed(window, f"Refresh {reference}", "1 reference was read again")
    window.check_accessibility()
    window.to_top("Certificates")
    window.shot("dashboard-certificates")
    window.view("Certificates")
    expect(page.get_by_role("region", name="Certificates in use").get_by_role("row").nth(1)).to_contain_text("www")
