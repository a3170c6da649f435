"""One running system and one headless Chromium for all flows."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright
from sqlalchemy import update

from benchmarks.dashboard import fill, start_controller
from evenkeel.store.records import schema
from evenkeel.store.sql_store import open_store
from tests.demo.patience import be_patient
from tests.ui.looking import Window
from tests.ui.world import World, finished

LOAD_BALANCERS = 10_000
AGENTS = 8
CHROMIUM = "chromium"
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

Open = Callable[..., Window]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith("tests/ui/"):
            item.add_marker(pytest.mark.acceptance)
            item.add_marker(pytest.mark.services)


# of the package, not the session: as long as the browser's client lives, its event loop counts as running in this
# thread, and tests of other packages in this process could not run theirs
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    executable = shutil.which(CHROMIUM)
    if executable is None:
        pytest.skip("there is no chromium (Debian's package chromium)")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=executable, args=list(ARGUMENTS))
        yield opened
        opened.close()


@pytest.fixture(scope="package")
def running(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with pytest.MonkeyPatch.context() as patch:
        be_patient(patch)
        world = World(tmp_path_factory.mktemp("ui"))
        try:
            world.start()
            yield world
        finally:
            world.close()


@pytest.fixture(scope="package")
def filled_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A controller without authentication, with 10,000 load balancers of 1,000 tenants in two device groups, none of
    which is served."""
    directory = tmp_path_factory.mktemp("filled")
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
def window(filled_url: str, browser: Browser, tmp_path: Path) -> Iterator[Window]:
    """On the controller with many load balancers."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
    opened = Window(context.new_page(), filled_url, _images(tmp_path))
    yield opened
    context.close()
    assert opened.errors == []
    assert opened.foreign == []


def _images(else_: Path) -> Path:
    return Path(os.environ["EVENKEEL_IMAGES"]) if "EVENKEEL_IMAGES" in os.environ else else_


@pytest.fixture
def world(running: World) -> World:
    """The system as it was at its start, whatever the test before has left."""
    running.reset()
    return running


@pytest.fixture
def open_page(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    """Opens windows; afterwards they must have had no error, and have asked nobody but their controller."""
    windows: list[Window] = []

    def opened(world: World, *, url: str = "", width: int = 1280, height: int = 800, dark: bool = False) -> Window:
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
        )
        page: Page = context.new_page()
        windows.append(Window(page, url or world.cluster.url(1), _images(tmp_path)))
        return windows[-1]

    yield opened
    for window in windows:
        window.page.context.close()
    for window in windows:
        assert window.errors == []
        assert window.foreign == []
