"""`/docs` as programs and browsers ask for it: pages, Markdown, pictures and the search index."""

import re

import httpx
import pytest
from assertions import assert_error

from hub.manual.library import manual

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.mark.parametrize("path", ["/docs", "/docs/", "/docs/concepts", "/docs/how-to/post-events"])
async def test_a_page_is_kept_until_it_changes(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(path)
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    again = await client.get(path, headers={"If-None-Match": answer.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


async def test_a_page_loads_nothing_from_elsewhere_and_runs_no_script_of_its_own(
    client: httpx.AsyncClient,
) -> None:
    answer = await client.get("/docs/tutorial")
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'; script-src 'self'; style-src 'self';" in policy
    assert not re.search(r"<script(?![^>]*src=)| style=| onclick=", answer.text)
    for address in re.findall(r'<(?:link|script|img)[^>]* (?:src|href)="([^"]+)"', answer.text):
        assert (await client.get(str(answer.url.join(address)))).status_code == 200, address


async def test_a_page_is_served_as_markdown(client: httpx.AsyncClient) -> None:
    answer = await client.get("/docs/how-to/post-events.md")
    assert answer.headers["Content-Type"] == "text/markdown; charset=utf-8"
    assert answer.text == manual().pages["how-to/post-events"].source


async def test_links_between_pages_lead_to_pages(client: httpx.AsyncClient) -> None:
    for name in ("index", "how-to/troubleshoot", "reference/events", "concepts"):
        answer = await client.get(f"/docs/{name}")
        article = answer.text.partition("<article")[2].partition("</article>")[0]
        links = [one for one in re.findall(r'href="([^"#]+)', article) if "//" not in one]
        assert not [one for one in links if one.endswith(".md")]
        for link in dict.fromkeys(links):
            assert (await client.get(str(answer.url.join(link)))).status_code == 200, link


@pytest.mark.parametrize(
    "path",
    [
        "/docs/nothing",
        "/docs/how-to/nothing.md",
        "/docs/images/nothing.png",
        "/docs/..%2Fsettings.py",
        "/docs/%2e%2e/app.png",
        "/docs/static/000000000000-tocsin.css",
        "/docs/how-to",
    ],
)
async def test_unknown_pages_are_not_found(client: httpx.AsyncClient, path: str) -> None:
    assert_error(await client.get(path), 404, "Not Found")


async def test_browsers_get_a_page_for_an_unknown_path(client: httpx.AsyncClient) -> None:
    for path in ("/docs/nothing", "/docs/how-to/nothing"):
        answer = await client.get(path, headers=BROWSER)
        assert answer.status_code == 404
        assert "<h1" in answer.text
        contents = re.findall(r'<li><a href="([^"]+)"', answer.text)
        assert (await client.get(str(answer.url.join(contents[-1])))).status_code == 200


async def test_styles_are_kept_for_ever(client: httpx.AsyncClient) -> None:
    page = (await client.get("/docs")).text
    style = re.findall(r'rel="stylesheet" href="([^"]+)"', page)[0]
    answer = await client.get(f"/{style}")
    assert "immutable" in answer.headers["Cache-Control"]
    assert answer.headers["Content-Type"] == "text/css; charset=utf-8"


async def test_the_search_index_has_every_section(client: httpx.AsyncClient) -> None:
    found = (await client.get("/docs/search.json")).json()
    names = [name for name, _ in found["pages"]]
    assert set(names) == set(manual().pages) - {"index"}
    anchors = {(names[page], anchor) for page, _, anchor, _ in found["sections"]}
    wanted = {(name, one) for name in names for one in manual().pages[name].anchors}
    assert anchors == wanted
