"""The API reference in the dashboard: it is complete, and the setting decides who may read it."""

import re
from typing import Any

import pytest
from dashboard_client import open_dashboard, text_of
from engines import embedded
from markupsafe import Markup
from statement_log import statements
from ui_rows import operator

from hub.operations import EVENTS, OPERATIONS
from hub.ui.reference import views
from hub.ui.templating import render_part
from store import Store


@embedded("the reference is not in the store")
async def test_every_operation_and_every_schema_is_there(store: Store, seed: Any) -> None:
    async with open_dashboard(store, seed.token) as browser:
        index = (await browser.page("/ui/reference")).replace("<wbr>", "")
        for operation in OPERATIONS:
            assert f">{operation.method}</span>" in index
            assert f"<code>{operation.path}</code>" in index
        for name in EVENTS:
            assert f"<code>{name}</code>" in index
        groups = set(re.findall(r'href="(/ui/reference/[^"#]+)"', index))
        schemas = {one for one in groups if "/schemas/" in one}
        for path in sorted(groups - schemas):
            html = await browser.page(path)
            schemas |= set(re.findall(r'href="(/ui/reference/schemas/[^"]+)"', html))
            anchors = re.findall(r'id="([^"]+)"', html)
            assert len(anchors) == len(set(anchors))
        assert len(schemas) > 100
        seen: set[str] = set()
        while schemas - seen:
            path = min(schemas - seen)
            seen.add(path)
            html = await browser.page(path)
            schemas |= set(re.findall(r'href="(/ui/reference/schemas/[^"]+)"', html))


@embedded("the reference is not in the store")
async def test_an_operation_shows_its_parameters_and_answers(store: Store, seed: Any) -> None:
    async with open_dashboard(store, seed.token) as browser:
        said = text_of(await browser.page("/ui/reference/repos"))
        assert "POST /repos/{owner}/{repo}/hooks repos/create-webhook" in said
        assert "Scope of classic tokens: write:repo_hook or repo." in said
        assert "config NewHookConfig" in said
        assert "events list of string at most 200 items" in said
        assert "201 Success: Hook" in said
        assert (await browser.get("/ui/reference/nothing")).status_code == 404
        assert (await browser.get("/ui/reference/schemas/nothing")).status_code == 404


@embedded("the reference is not in the store")
async def test_a_page_that_is_kept_is_of_its_own_hub_and_place(store: Store, seed: Any) -> None:
    """The page of a group is rendered once for each hub and each URL of the reference."""
    for last, url in enumerate(("https://one.example", "https://other.example")):
        async with open_dashboard(store, seed.token, last=bool(last), base_url=url) as browser:
            for _ in range(2):
                found = await browser.page("/ui/reference/repos")
                assert set(re.findall(r"https://\w+\.example(?=/repos)", found)) == {url}
                assert 'href="/ui/reference/schemas/Hook"' in found
            public = (await browser.client.get("/reference/repos", auth=("", seed.token))).text
            assert 'href="../reference/schemas/Hook"' in public
            assert "/ui/reference/schemas" not in public


@embedded("the reference is not in the store")
async def test_the_page_of_a_group_is_rendered_once_for_hubs_that_are_alike(
    store: Store, seed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rendered: list[str] = []

    def render(template: str, values: dict[str, Any]) -> Markup:
        rendered.append(template)
        return render_part(template, values)

    monkeypatch.setattr(views, "render_part", render)
    views.group_html.cache_clear()
    for last in (False, True):
        async with open_dashboard(store, seed.token, last=last) as browser:
            await browser.page("/ui/reference/repos")
    assert len(rendered) == 1


async def test_a_page_of_the_reference_looks_for_its_session_once(
    store: Store, seed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_dashboard(store, seed.token) as browser:
        await browser.page("/ui/reference")
        asked = statements(monkeypatch)
        await browser.page("/ui/reference/schemas/Hook")
    assert len([sql for sql in asked if "FROM ui_session s" in sql]) == 1


@embedded("the reference is not in the store")
@pytest.mark.parametrize(
    ("setting", "nobody", "user", "root"),
    [
        ("public", 200, 200, 200),
        ("users", 303, 200, 200),
        ("admin", 303, 403, 200),
        ("off", 404, 404, 404),
    ],
)
async def test_the_setting_decides_the_reference_s_readers(
    store: Store, seed: Any, setting: Any, nobody: int, user: int, root: int
) -> None:
    given = {None: nobody, seed.token: user, store.write_sync(operator): root}
    for at, (token, wanted) in enumerate(given.items()):
        last = at == len(given) - 1
        async with open_dashboard(store, token, last=last, api_reference=setting) as browser:
            for path in ("/ui/reference", "/ui/reference/repos", "/ui/reference/schemas/Hook"):
                assert (await browser.get(path)).status_code == wanted, path
            if token is not None:
                shown = 'href="/ui/reference"' in await browser.page("/ui/replay")
                assert shown == (wanted == 200)
