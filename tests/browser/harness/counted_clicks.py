"""Clicks are counted where the browser sees them: each press of the pointer, whatever it is for."""

from dataclasses import dataclass
from typing import Self

from playwright.async_api import Dialog, Locator, Page

REPORT = "addEventListener('mousedown', (event) => event.isTrusted && clicked(), true);"


@dataclass
class Clicks:
    """How often somebody clicked on a page, and on those that followed. Keys are not counted."""

    page: Page
    many: int = 0

    @classmethod
    async def counted(cls, page: Page) -> Self:
        """Count from the page that is opened next."""
        made = cls(page)
        await page.expose_function("clicked", made.count_one)
        await page.add_init_script(REPORT)
        page.on("dialog", made.accept)
        return made

    def count_one(self) -> None:
        self.many += 1

    async def accept(self, dialog: Dialog) -> None:
        # A question is answered by a click, too.
        self.many += 1
        await dialog.accept()

    async def enter(self, field: Locator, text: str) -> None:
        """Click into a field, and write."""
        await field.click()
        await self.page.keyboard.type(text)
