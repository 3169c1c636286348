"""The payload of an event can be folded and searched, and its paths can be copied."""

import pytest
from chromium import violations
from playwright.async_api import expect


@pytest.fixture
async def place(server):
    deep = {"issue": {"labels": [{"name": "bell"}, {"name": "tower"}], "open": True, "n": None}}
    deep |= {"run": 2**53 + 1}
    await server.post("fork", guid="json-tree", **deep)
    with server.opened() as store:
        event = store.read_sync(
            lambda db: db.value("SELECT max(id) FROM event WHERE name = 'fork'")
        )
    return f"/ui/events/{event}"


async def test_a_payload_folds_and_is_searched(visit, place):
    guest = await visit("ada")
    page = await guest.go(place)
    tree = page.locator("ul.json")
    await expect(tree.get_by_role("button", name="issue")).to_be_visible()
    await expect(tree.get_by_text('"tower"')).to_have_count(0)
    assert await violations(page) == []
    search = page.get_by_role("searchbox", name="Search in Payload")
    await search.fill("tower")
    await expect(tree.get_by_text('"tower"')).to_be_visible()
    await expect(page.get_by_text("1 match", exact=True)).to_be_visible()
    await search.fill("name")
    await expect(page.get_by_text("2 matches")).to_be_visible()
    keys = tree.get_by_role("button", name="name")
    assert await keys.nth(1).get_attribute("data-copy") == "$.issue.labels[1].name"
    await page.get_by_role("button", name="Fold all", exact=True).click()
    await expect(tree.get_by_text('"tower"')).to_be_hidden()
    await page.get_by_role("button", name="As text").click()
    await expect(page.locator("pre#body")).to_contain_text('"tower"')
    assert await violations(page) == []


async def test_a_number_with_many_digits_is_not_rounded(visit, place):
    guest = await visit("ada")
    page = await guest.go(place)
    await expect(page.locator("ul.json")).to_contain_text("run: 9007199254740993")


async def test_without_scripts_it_is_text(visit, place):
    guest = await visit("ada", scripts=False)
    page = await guest.go(place)
    await expect(page.locator("pre#body")).to_contain_text('"tower"')


TWICE = """async key => {
    const later = [], timeout = window.setTimeout;
    window.setTimeout = act => later.push(act);
    for (const many of [1, 2]) {
        key.click();
        while (later.length < many) await new Promise(requestAnimationFrame);
    }
    window.setTimeout = timeout;
    const before = key.textContent;
    for (const act of later) act();
    return [before, key.textContent];
}"""


async def test_a_key_has_its_name_again_after_two_clicks(visit, place):
    guest = await visit("ada")
    await guest.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = await guest.go(place)
    key = page.locator("button.json-key").first
    name = await key.inner_text()
    assert await key.evaluate(TWICE) == ["Copied", name]
    await expect(page.locator("body > [role=status]")).to_have_text("Copied")


async def test_characters_that_reorder_text_are_escapes_in_a_tree(visit, server):
    await server.post("fork", guid="reordered", **{"name\u202e": "exe.\u202egpj"})
    guest = await visit("ada")
    page = await guest.go("/ui/events?guid=reordered")
    await page.locator("main tbody th a").first.click()
    tree = page.locator("ul.json")
    await expect(tree).to_contain_text('"exe.\\u202egpj"')
    await expect(tree.get_by_role("button", name="name\\u202e", exact=True)).to_be_visible()
