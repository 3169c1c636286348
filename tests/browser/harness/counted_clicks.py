"""Counts each press of a mouse button, and of a key, that the browser reports on a page."""

from dataclasses import dataclass
from typing import Self

from playwright.async_api import Dialog, Locator, Page

REPORT = """
addEventListener('mousedown', (event) => event.isTrusted && clicked(), true);
addEventListener('keydown', (event) => event.isTrusted && pressed(), true);
"""


@dataclass
class Clicks:
    """The numbers of clicks and of keys on a page and on the pages that follow it."""

    page: Page
    many: int = 0
    keys: int = 0

    @classmethod
    async def counted(cls, page: Page) -> Self:
        """Return a counter that counts from the next page that is opened."""
        made = cls(page)
        await page.expose_function("clicked", made.count_one)
        await page.expose_function("pressed", made.count_key)
        await page.add_init_script(REPORT)
        page.on("dialog", made.accept)
        return made

    def count_one(self) -> None:
        self.many += 1

    def count_key(self) -> None:
        self.keys += 1

    async def accept(self, dialog: Dialog) -> None:
        # A user would click to answer a dialog.
        self.many += 1
        await dialog.accept()

    async def enter(self, field: Locator, text: str) -> None:
        """Click into a field, and type a text."""
        await field.click()
        await self.page.keyboard.type(text)
