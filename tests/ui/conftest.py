"""One running system and one headless Chromium for all flows."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.demo.patience import be_patient
from tests.ui.looking import Window
from tests.ui.world import World

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
        if Path(item.path).parent == Path(__file__).parent:
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


@pytest.fixture
def world(running: World) -> World:
    """The system, with everybody up."""
    running.settled()
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
        images = Path(os.environ["EVENKEEL_IMAGES"]) if "EVENKEEL_IMAGES" in os.environ else tmp_path
        windows.append(Window(page, url or world.cluster.url(1), images))
        return windows[-1]

    yield opened
    for window in windows:
        window.page.context.close()
    for window in windows:
        assert window.errors == []
        assert window.foreign == []
