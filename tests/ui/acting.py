"""Acts of the dashboard: asked for, confirmed, and followed until they are shown to be done."""

import re

from playwright.sync_api import Locator, expect

from tests.ui.looking import Window


def ask_for(window: Window, button: str) -> Locator:
    """Press a button; the dialog."""
    window.page.get_by_role("button", name=button, exact=True).click()
    dialog = window.page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    return dialog


def confirm(window: Window) -> None:
    dialog = window.page.get_by_role("dialog")
    dialog.locator("button.confirm").click()
    expect(dialog).to_have_count(0)


def is_followed(window: Window, title: str, text: str) -> None:
    """It is shown to be done, with this text."""
    row = window.page.get_by_role("region", name="Under way").get_by_role("listitem").filter(has_text=title)
    expect(row).to_contain_text(re.compile(f"done: {text}"))
    row.get_by_role("button").click()
    expect(row).to_have_count(0)
