"""Acts that change devices for good, in a browser and to their end: what the devices have is looked at."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from playwright.sync_api import Browser, expect

from tests.demo.patience import be_patient
from tests.ui.acting import ask_for, confirm, is_followed
from tests.ui.conftest import Open
from tests.ui.groups import HOSTS, TwoGroups
from tests.ui.world import OPERATORS, PROJECT

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def groups(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoGroups]:
    with pytest.MonkeyPatch.context() as patch:
        be_patient(patch)
        world = TwoGroups(tmp_path_factory.mktemp("groups"))
        try:
            world.start()
            yield world
        finally:
            world.close()


def test_a_move_to_another_device_group_and_back_is_followed_over_a_reload(groups: TwoGroups, open_page: Open) -> None:
    window = open_page(groups)
    source = groups.group
    other = len(HOSTS) + 1 - source
    for target in (other, source):
        window.go(f"loadbalancers/{groups.load_balancer_id}")
        dialog = ask_for(window, "Move website")
        dialog.get_by_label("To device group").select_option(f"prod/{target}")
        expect(dialog.locator(".plan")).to_contain_text(f"to prod/{target}")
        confirm(window)
        window.page.reload()
        is_followed(window, "Move website", f"it is on prod/{target}")
        assert groups.group == target
        assert groups.acting_host() == HOSTS[target - 1]
        window.view("Maintenance")
        expect(window.row("website")).to_contain_text("done")
    assert not any(PROJECT in name for name in groups.names(other, "ltm/virtual"))


def test_a_foreign_partition_is_adopted_and_given_back(groups: TwoGroups, open_page: Open) -> None:
    project = uuid4().hex
    partition = f"prod_{project}"
    for group in (1, 2):  # wherever the load balancer is placed
        groups.on_device(group, "POST", "auth/partition", {"name": partition})
        groups.on_device(group, "POST", "ltm/pool", {"name": "prod_old", "partition": partition})
    id_ = groups.create("inherited", project)
    hosting = f"{OPERATORS}/loadbalancers/{id_}/agent"
    groups.until(lambda: "evenkeel adopt" in groups.ask("GET", hosting)["hosting"]["status_reason"])
    host = groups.ask("GET", hosting)["hosting"]["acting"]["host"]
    window = open_page(groups)
    window.go(f"agents/{groups.agent(host)['id']}")
    dialog = ask_for(window, f"Adopt partition of project {project[:8]}")
    expect(dialog.locator(".plan")).to_contain_text("prod_old")
    window.check_accessibility()
    window.shot("dashboard-adopt")
    confirm(window)
    is_followed(window, f"Adopt partition of project {project[:8]}", f"{host} has adopted the partition")
    groups.until(lambda: groups.status(id_) == "ACTIVE")
    ask_for(window, f"Give back partition of project {project[:8]}")
    confirm(window)
    is_followed(window, f"Give back partition of project {project[:8]}", f"{host} has given the partition back")


def test_a_held_load_balancer_is_found_and_released_to_its_devices(groups: TwoGroups, open_page: Open) -> None:
    id_ = str(uuid4())
    new = {
        "project_id": PROJECT,
        "provider": "prod",
        "name": "imported",
        "vip_subnet_id": groups.subnet_id,
        "vip_address": groups.free_address,
        "listeners": [{"id": str(uuid4()), "name": "plain", "protocol": "HTTP", "protocol_port": 8080}],
    }
    body = {"apply": True, "held": True, "loadbalancer": new}
    groups.ask("PUT", f"{OPERATORS}/imports/loadbalancers/{id_}", body)
    window = open_page(groups)
    window.go("loadbalancers?held=true")
    window.page.get_by_role("link", name="imported").click()
    dialog = ask_for(window, "Release to devices imported")
    expect(dialog).to_contain_text(f"evenkeel switch-over {id_}")
    window.check_accessibility()
    confirm(window)
    is_followed(window, "Release to devices imported", "ACTIVE")
    found = groups.on_device(groups.group_of(id_), "GET", "ltm/virtual-address")["items"]
    assert new["vip_address"] in {each["address"] for each in found}


def test_after_a_restore_the_lost_history_is_accepted_and_an_orphan_removed(
    groups: TwoGroups, open_page: Open, tmp_path: Path
) -> None:
    groups.back_up(tmp_path / "copy.db")
    orphan = groups.create("late", PROJECT)
    groups.until(lambda: groups.status(orphan) == "ACTIVE")
    group = groups.group_of(orphan)
    groups.ask("POST", f"{OPERATORS}/database/new-history")
    newer = groups.ask("GET", f"{OPERATORS}/database")["database"]["history_id"]
    # A new history makes it PENDING_UPDATE until its agent, which then knows the history, has checked it.
    groups.until(lambda: groups.status(orphan) == "ACTIVE")
    groups.restore(tmp_path / "copy.db")
    groups.until(lambda: groups.ask("GET", f"{OPERATORS}/database")["database"]["unknown_histories"])
    window = open_page(groups)
    window.go()
    expect(window.page.locator(".problem").first).to_contain_text("history")
    window.view("Maintenance")
    button = f"Accept history {newer[:8]}"
    dialog = ask_for(window, button)
    expect(dialog).to_contain_text(f"evenkeel database accept-history {newer}")
    window.check_accessibility()
    confirm(window)
    is_followed(window, button, "it is accepted")
    assert not groups.ask("GET", f"{OPERATORS}/database")["database"]["unknown_histories"]
    groups.until(lambda: orphan in groups.orphans())
    window.page.get_by_role("button", name="Look for orphans").click()
    expect(window.row(orphan)).to_contain_text(f"prod/{group}")
    window.check_accessibility()
    dialog = ask_for(window, f"Remove {orphan[:8]}")
    expect(dialog).to_contain_text(f"evenkeel orphan remove {orphan}")
    confirm(window)
    is_followed(window, f"Remove {orphan[:8]}", "devices hold it no more")
    assert not any(orphan in name for name in groups.names(group, "ltm/virtual-address"))
