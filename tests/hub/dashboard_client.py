"""An HTTP client that acts as a browser of the dashboard: cookies, forms, and event streams."""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from html import unescape
from typing import Any
from urllib.parse import urlencode

import httpx
from hub_client import DirectClient, DirectTransport, judge
from starlette.types import ASGIApp
from waiting import PATIENCE

from hub.admin.observability import Observability
from hub.app import create_app
from hub.rest.context import Trials
from hub.settings import HubSettings
from hub.ui import cookies, csrf
from store import Store

HERE = "http://127.0.0.1:8765"
FORM = re.compile(r'name="csrf" value="(\w{65,})"')
SAME = {"Sec-Fetch-Site": "same-origin", "Origin": HERE}


class Browser:
    """Sends requests as a browser does: with its cookies, and with the CSRF token of a form."""

    def __init__(self, client: httpx.AsyncClient, app: ASGIApp) -> None:
        self.client = client
        self._app = app
        self._pages: dict[tuple[str, str | None], httpx.Response] = {}

    async def get(self, path: str, **given: Any) -> httpx.Response:
        """The response to the request for a page."""
        answer = await self.client.get(path, **given)
        self._pages[path, self._session()] = answer
        return answer

    async def page(self, path: str) -> str:
        """A page's HTML. The status has to be 200."""
        answer = await self.get(path)
        assert answer.status_code == 200, (path, answer.status_code, text_of(answer.text))
        return answer.text

    async def post(
        self, path: str, form: Mapping[str, Any] | None = None, *, on: str = "/ui", **given: Any
    ) -> httpx.Response:
        """Send a form with the CSRF token of the page `on`."""
        data = {"csrf": await self._form_token(on), **(form or {})}
        headers = {**SAME, **given.pop("headers", {})}
        return await self.client.post(path, data=data, headers=headers, **given)

    async def sign_in(self, token: str) -> httpx.Response:
        """Sign in with a token."""
        return await self.post("/ui/sign-in", {"token": token}, on="/ui/sign-in")

    async def enter(self, token: str) -> httpx.Response:
        """Sign in with a token, but without a request for the page that has the form.

        The tests of signing in request the page.
        """
        form = {"csrf": csrf.token_of("door"), "token": token}
        headers = {**SAME, "Cookie": f"{cookies.DOOR}=door"}
        return await self.client.post("/ui/sign-in", data=form, headers=headers)

    async def _form_token(self, path: str) -> str:
        """The token in the forms of a page. Request the page unless this session has seen it."""
        page = self._pages.get((path, self._session()))
        found = None if page is None else FORM.search(page.text)
        if found is None:
            found = FORM.search((await self.get(path, follow_redirects=True)).text)
        assert found is not None, path
        return found[1]

    def _session(self) -> str | None:
        """The cookies that decide on the token in forms."""
        values = {one.name: one.value for one in self.client.cookies.jar}
        return values.get(cookies.SESSION) or values.get(cookies.DOOR)

    @asynccontextmanager
    async def listening(self, path: str, **given: str) -> AsyncIterator["Listening"]:
        """Subscribe to live views (paths separated by spaces) for the length of the block."""
        heard = Listening()
        query = urlencode([*given.items(), *(("at", at) for at in path.split())])
        cookie = "; ".join(f"{name}={value}" for name, value in self.client.cookies.items())
        scope = {
            "type": "http", "http_version": "1.1", "method": "GET", "scheme": "http",
            "path": "/ui/stream", "raw_path": b"/ui/stream", "query_string": query.encode(),
            "headers": [(b"host", HERE.rpartition("/")[2].encode()), (b"cookie", cookie.encode())],
            "client": ("192.0.2.7", 1), "server": ("127.0.0.1", 8765),
        }  # fmt: skip
        task = asyncio.ensure_future(self._app(scope, heard.receive, heard.send))
        try:
            yield heard
        finally:
            heard.gone.set()
            await asyncio.wait_for(task, PATIENCE)


class Listening:
    """The client of a stream of server-sent events, and the text that it got so far."""

    def __init__(self) -> None:
        self.gone = asyncio.Event()
        self.status = 0
        self.ended = False
        self.text = ""
        self._news = asyncio.Condition()

    async def receive(self) -> dict[str, Any]:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        async with self._news:
            self.status = message.get("status", self.status)
            self.text += message.get("body", b"").decode()
            begun = message["type"] == "http.response.start"
            self.ended = not begun and not message.get("more_body", False)
            self._news.notify_all()

    async def until(self, text: str) -> str:
        """Wait until the stream has sent this text or has ended. Return all of its text."""
        async with self._news, asyncio.timeout(PATIENCE):
            await self._news.wait_for(lambda: text in self.text or self.ended)
        return self.text


@asynccontextmanager
async def open_dashboard(
    store: Store,
    token: str | None = None,
    *,
    host: str = HERE,
    last: bool = True,
    clock: Callable[[], float] = time.monotonic,
    trials: Trials | None = None,
    **settings: Any,
) -> AsyncIterator[Browser]:
    """Open a browser of a hub with these settings, and sign in with the token if there is one.

    The store is closed at the end, unless `last` is False.
    """
    observability = Observability(store, clock=clock)
    app = create_app(
        store, HubSettings(**settings), judge, observability=observability, trials=trials
    )
    transport = DirectTransport(app, client=("192.0.2.7", 1))
    headers = {"User-Agent": "tests"}
    async with DirectClient(transport=transport, base_url=host, headers=headers) as client:
        browser = Browser(client, app)
        if token is not None:
            assert (await browser.enter(token)).status_code == 303
        yield browser
    await observability.close()
    if last:
        await store.close()


def next_page(page: str) -> str:
    """The URL of the next page of a list, from the HTML of a page."""
    (found,) = re.findall(r'<a href="([^"]+)" rel="next"', page)
    return unescape(found)


def text_of(html: str) -> str:
    """The text of a page without markup, in one line."""
    body = re.sub(r"<(script|style|svg).*?</\1>", " ", html.replace("<wbr>", ""), flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", body)).split())
