"""Pages name missing rights and the remedy, and never show an empty list instead."""

from typing import Any

import pytest
from dashboard_client import open_dashboard, text_of
from ui_world import World

from store import Store
from store.accounts import tokens

LISTS = (
    "",
    "/problems",
    "/hooks",
    "/deliveries",
    "/events",
    "/replay",
    "/topics",
    "/topics/followers",
)
WELL = ("No hooks yet", "No problems", "No deliveries yet", "No events", "No replays yet",
        "No repositories yet", "No WebSub", "endpoints None Slowest")  # fmt: skip


@pytest.fixture
def world(store: Store, seed: Any) -> World:
    world = World(store, seed)
    world.send(world.failing, status_code=500)
    return world


async def seen(world: World, token: str) -> dict[str, str]:
    """Return the text of each list, by path, as the token's user sees it."""
    async with open_dashboard(world.store, token, last=False) as browser:
        return {path: text_of(await browser.page(f"/ui{path}")) for path in LISTS}


async def test_pages_name_the_missing_scope(world: World) -> None:
    bare = world.store.write_sync(lambda db: tokens.create(db, world.seed.octo["id"])[0])
    for path, said in (await seen(world, bare)).items():
        assert "Your token may not view hooks" in said, path
        assert "tocsin token add octo --scope read:repo_hook" in said, path
        assert not [word for word in WELL if word in said], path


async def test_pages_name_the_missing_role(world: World) -> None:
    for path, said in (await seen(world, world.seed.reader_token)).items():
        assert "You administer no repository" in said, path
        assert "tocsin repo grant OWNER/NAME" in said, path
        assert not [word for word in WELL if word in said], path


async def test_a_viewer_with_rights_reads_nothing_of_them(world: World) -> None:
    for token in (world.seed.token, world.operator):
        for path, said in (await seen(world, token)).items():
            assert "leaves out" not in said, path
