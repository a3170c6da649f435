"""A window of the browser on the dashboard."""

import re
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import ConsoleMessage, Locator, Page, Request, expect

from tests.ui.world import PASSWORD, USER

IMAGE_BYTES_MAX = 220_000
PATIENCE_MS = 180_000
"""What a device refused is tried again after 5, 10, 20 and 40 s, and then once a minute."""
AXE = {
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]},
    "resultTypes": ["violations"],
}
EXPECTED = re.compile(r"Failed to load resource")
"""The browser's own line for an answer with an error, which the dashboard shows itself."""

expect.set_options(timeout=PATIENCE_MS)


class Window:
    """``errors``: what the page wrote to the console as an error; ``foreign``: requests to anybody but its
    controller."""

    def __init__(self, page: Page, url: str, images: Path) -> None:
        self.page = page
        self.url = url
        self._images = images
        self.errors: list[str] = []
        self.foreign: list[str] = []
        self.tolerated: list[str] = []
        page.set_default_timeout(PATIENCE_MS)
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", self._asked)

    def _said(self, message: ConsoleMessage) -> None:
        if message.type not in ("error", "warning"):
            return
        known = EXPECTED.search(message.text)
        (self.tolerated if known else self.errors).append(f"{message.text} {message.location.get('url', '')}")

    def _asked(self, request: Request) -> None:
        if not request.url.startswith((self.url, "data:")):
            self.foreign.append(request.url)

    # -- going

    def go(self, view: str = "") -> None:
        """Open a view, logged in."""
        self.page.goto(f"{self.url}/ui/#/{view}")
        self.log_in()
        self.loaded()

    def log_in(self, name: str = USER, password: str = PASSWORD) -> None:
        form = self.page.get_by_role("button", name="Log in", exact=True)
        expect(form.or_(self.page.get_by_role("navigation")).first).to_be_visible()
        if form.is_visible():
            self.page.get_by_label("Name").fill(name)
            self.page.get_by_label("Password", exact=True).fill(password)
            form.click()

    def view(self, name: str) -> None:
        """By the navigation."""
        self.page.get_by_role("navigation").get_by_role("link", name=name, exact=True).click()
        self.loaded()

    def loaded(self) -> None:
        expect(self.page.get_by_role("heading", level=1)).to_be_visible()
        expect(self.page.get_by_text("Loading…")).to_have_count(0)

    # -- looking

    def row(self, name: str) -> Locator:
        """The row of a table that has a cell with this text."""
        return self.page.get_by_role("row").filter(has_text=name)

    def confirmed(self, button: str) -> None:
        """Press a button and confirm what it asks."""
        self.page.get_by_role("button", name=button, exact=True).click()
        dialog = self.page.get_by_role("dialog")
        expect(dialog).to_be_visible()
        dialog.locator("button.confirm").click()
        expect(dialog).to_have_count(0)

    def check_accessibility(self) -> None:
        results = Axe().run(self.page, options=AXE)
        found = [
            (each["id"], each["help"], [node["html"][:120] for node in each["nodes"]][:3])
            for each in results.response["violations"]
        ]
        assert not found, found

    def does_not_overflow(self) -> None:
        """Nothing is wider than the window, but for tables and pictures that scroll by themselves."""
        widths = self.page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert widths[0] <= widths[1], widths

    def to_top(self, heading: str) -> None:
        """Scroll so that the picture begins there."""
        title = self.page.get_by_role("heading", name=heading, exact=True)
        title.evaluate("element => element.scrollIntoView({block: 'start'})")

    def shot(self, name: str) -> None:
        """A picture for the documentation, where EVENKEEL_IMAGES names its folder."""
        path = self._images / f"{name}.png"
        self.page.screenshot(path=path, animations="disabled", caret="hide")
        assert path.stat().st_size <= IMAGE_BYTES_MAX, f"{path.name}: {path.stat().st_size} bytes"
