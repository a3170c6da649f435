"""The demo's buttons, in a real browser."""

import asyncio
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from evenkeel.demo.cluster import agent_name
from evenkeel.demo.controls import FaultControls
from evenkeel.demo.dashboard_proxy import DashboardProxy
from tests.ui.conftest import Open
from tests.ui.world import HOSTS, World


@pytest.fixture
def proxy(world: World) -> Iterator[DashboardProxy]:
    """In a thread of its own, before the system's controllers; its controls are offered."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    controls = FaultControls(world.cluster, HOSTS, lambda text: None)
    controls.offered = True
    made = DashboardProxy(lambda: world.cluster.controllers, controls)
    asyncio.run_coroutine_threadsafe(made.start(), loop).result()
    yield made
    asyncio.run_coroutine_threadsafe(made.close(), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


@pytest.mark.timeout(600)
def test_buttons_freeze_an_agent_cut_off_the_device_and_heal_both(
    world: World, proxy: DashboardProxy, open_page: Open
) -> None:
    parts = urlsplit(proxy.url)
    host = world.acting_host()
    window = open_page(world, url=f"{parts.scheme}://{parts.netloc}", height=480)
    page = window.page
    page.goto(f"{proxy.url}#/topology")
    window.log_in()
    window.loaded()
    line = page.locator("text.shard.tenant")
    expect(line).to_have_attribute("data-agent", host)
    page.get_by_label("Agent").select_option(host)
    page.get_by_role("button", name="Freeze it").click()
    expect(page.locator("option", has_text=f"{host}, frozen")).to_have_count(1)
    world.freeze(agent_name(host))
    expect(line).not_to_have_attribute("data-agent", host)
    window.check_accessibility()
    window.shot("demo-topology")
    page.get_by_role("button", name="Cut the device off").click()
    expect(page.locator("g.box.silent", has_text="out of reach")).to_have_count(2)
    page.get_by_role("button", name="Heal everything").click()
    expect(page.locator("g.box.silent")).to_have_count(0)
    expect(line).to_have_attribute("data-agent", host)


def test_wrong_token_shows_no_buttons(world: World, proxy: DashboardProxy, open_page: Open) -> None:
    parts = urlsplit(proxy.url)
    window = open_page(world, url=f"{parts.scheme}://{parts.netloc}")
    window.page.goto(f"{window.url}/ui/?demo=wrong")
    window.log_in()
    window.loaded()
    expect(window.page.get_by_role("button", name="Heal everything")).to_have_count(0)
