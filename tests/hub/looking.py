"""A browser's view of the dashboard under test, without the browser: cookies, forms, statements."""

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from html import unescape
from typing import Any

import httpx
from asking import judge

from hub.app import create_app
from hub.seeing import Seeing
from hub.settings import HubSettings
from store import Store

HERE = "http://127.0.0.1:8765"
FORM = re.compile(r'name="csrf" value="([0-9a-f]{64})"')
SAME = {"Sec-Fetch-Site": "same-origin", "Origin": HERE}


class Browser:
    """Asks as a browser does: with the cookies it was given, and with the form's token."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client

    async def get(self, path: str, **given: Any) -> httpx.Response:
        """A page."""
        return await self.client.get(path, **given)

    async def page(self, path: str) -> str:
        """A page's HTML, which has to be there."""
        answer = await self.get(path)
        assert answer.status_code == 200, (path, answer.status_code, text_of(answer.text))
        return answer.text

    async def post(
        self, path: str, form: Mapping[str, str] | None = None, *, on: str = "/ui", **given: Any
    ) -> httpx.Response:
        """Send a form as the page `on` would."""
        found = FORM.search((await self.get(on, follow_redirects=True)).text)
        assert found is not None, on
        data = {"csrf": found[1], **(form or {})}
        headers = {**SAME, **given.pop("headers", {})}
        return await self.client.post(path, data=data, headers=headers, **given)

    async def sign_in(self, token: str) -> httpx.Response:
        """Sign in with a token."""
        return await self.post("/ui/sign-in", {"token": token}, on="/ui/sign-in")


@asynccontextmanager
async def browsing(
    store: Store,
    token: str | None = None,
    *,
    host: str = HERE,
    last: bool = True,
    **settings: Any,
) -> AsyncIterator[Browser]:
    """A browser of a hub with these settings, signed in with a token where one is given. The store
    is closed after the `last` one.
    """
    seeing = Seeing(store)
    app = create_app(store, HubSettings(**settings), judge, seeing=seeing)
    transport = httpx.ASGITransport(app, client=("192.0.2.7", 1))
    headers = {"User-Agent": "tests"}
    async with httpx.AsyncClient(transport=transport, base_url=host, headers=headers) as client:
        browser = Browser(client)
        if token is not None:
            assert (await browser.sign_in(token)).status_code == 303
        yield browser
    await seeing.close()
    if last:
        await store.close()


def text_of(html: str) -> str:
    """What a page says, without its marks, in one line."""
    body = re.sub(r"<(script|style|svg).*?</\1>", " ", html, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", body)).split())
