"""Characters that reorder the text after them: no name reads as another."""

import re

from dashboard_client import open_dashboard
from ui_world import World

from hub.ui.templating import ORDERING
from store.delivery import event_queries
from store.hooks import hook_links

REVERSED = "gpj\u202eexe.good"
SHOWN = 'gpj<bdi dir="ltr" class="ordering" data-name="U+202E">\u202e</bdi>exe.good'


async def test_a_name_that_reorders_text_is_isolated_on_each_page(world: World) -> None:
    body = f'{{"note": "{REVERSED}"}}'.encode()
    (attempt,) = world.send(world.good, REVERSED, name="issues", action=REVERSED, body=body)
    event = world.store.read_sync(event_queries.newest, limit=1)[0]["id"]
    world.store.write_sync(hook_links.create, world.good["id"], REVERSED, "octo", 10**12)
    async with open_dashboard(world.store, world.seed.token) as browser:
        for path in (
            "deliveries", "events", f"events/{event}", f"deliveries/{attempt}",
            f"hooks/{world.good['id']}",
        ):  # fmt: skip
            page = await browser.page(f"/ui/{path}")
            assert SHOWN in page, path
            title = re.search("<title>(.*?)</title>", page)
            assert title is not None
            assert not set(title[1]) & set(ORDERING), path
            # Outside these elements, the character is only in attributes and fields.
            rest = re.sub(
                r"<bdi[^>]*>.</bdi>|<textarea.*?</textarea>|<[^>]*>", "", page, flags=re.S
            )
            assert not set(rest) & set(ORDERING), path
            # People copy the same text.
            assert REVERSED in re.sub(r"<bdi[^>]*>(.)</bdi>", r"\1", page)


async def test_a_form_keeps_the_characters_that_reorder_text(world: World) -> None:
    async with open_dashboard(world.store, world.seed.token) as browser:
        page = await browser.page(f"/ui/deliveries?event={REVERSED}")
        assert f'value="{REVERSED}"' in page
        at = f"/ui/hooks/{world.good['id']}/send"
        answer = await browser.post(at, {"event": "push", "payload": f"{{{REVERSED}"}, on=at)
        assert answer.status_code == 422
        assert f"{{{REVERSED}</textarea>" in answer.text
