"""The catalog of events: their meaning, their frequency, and their subscribers."""

import json
import re
from html import unescape

import pytest
from dashboard_client import open_dashboard, text_of
from ui_world import World

from hub.api.issues.issue_part_serializers import IssueComment
from hub.api.pulls.pull_serializers import PullRequest
from hub.ui.catalog.meanings import meaning
from store import Connection
from store.accounts import accounts, apps
from store.apps import app_hooks, installations
from store.delivery import event_counts, event_queries
from store.delivery.events import accept_all
from store.delivery.incoming import EXAMPLE_SOURCES, IncomingEvent
from store.hooks import hooks
from store.hooks.event_names import HUB_EVENTS, PLATFORM_EVENTS
from store.hooks.hook_targets import EVERYWHERE, SYSTEM, organization
from store.repositories import repositories


def test_every_event_has_a_meaning() -> None:
    assert [name for name in PLATFORM_EVENTS | HUB_EVENTS if not meaning(name)] == []


async def test_an_event_shows_its_count_and_its_subscribers(world: World) -> None:
    world.send(world.good, "a", "b")
    world.send(world.other, "c")
    world.store.write_sync(hooks.update, world.hidden, events=["*", "interaction_limit"])
    async with open_dashboard(world.store, world.seed.token) as browser:
        page = await browser.page("/ui/catalogue")
        first = re.findall(r'href="/ui/catalogue/(\w+)"', page)
        assert (first[0], len(first)) == ("push", len(PLATFORM_EVENTS | HUB_EVENTS))
        assert "push Commits or tags were pushed. 2" in text_of(page)
        said = text_of(await browser.page("/ui/catalogue/push"))
        assert "Came 2 among the latest" in said
        assert "Subscribers 3 hooks" in said
        said = text_of(await browser.page("/ui/catalogue/interaction_limit"))
        assert "Subscribers 1 hook" in said
        assert "Schema" in said
        for name in ("nothing", "*", "%00"):
            assert (await browser.get(f"/ui/catalogue/{name}")).status_code == 404


async def test_subscribers_are_listed_without_those_that_do_not_get_it(world: World) -> None:
    world.store.write_sync(hooks.update, world.hidden, events=["*"])
    world.store.write_sync(hooks.update, world.good, events=["interaction_limit"])
    async with open_dashboard(world.store, world.seed.token) as browser:
        page = await browser.page("/ui/catalogue/push")
        assert [f"/ui/hooks/{hook['id']}" in page for hook in (world.hidden, world.failing)] == [
            True
        ] * 2
        assert f"/ui/hooks/{world.other['id']}" not in page
        # The wildcard `*` does not include the hub's own events.
        for path in ("/ui/catalogue/interaction_limit", "/ui/hooks?event=interaction_limit"):
            page = await browser.page(path)
            assert f"/ui/hooks/{world.good['id']}" in page
            assert f"/ui/hooks/{world.hidden['id']}" not in page
        assert 'href="/ui/hooks?event=interaction_limit">1 hook</a>' in await browser.page(
            "/ui/catalogue/interaction_limit"
        )


async def test_the_example_is_a_stored_payload_that_one_may_see(world: World) -> None:
    world.send(world.other, "theirs", body=b'{"ref": "their secret"}')
    async with open_dashboard(world.store, world.seed.token) as browser:
        page = text_of(await browser.page("/ui/catalogue/push"))
        assert "made up" in page
        assert "their secret" not in page
        world.send(world.good, "ours", body=b'{"ref": "refs/heads/ours"}')
        page = text_of(await browser.page("/ui/catalogue/push"))
        assert "the payload of event" in page
        assert "refs/heads/ours" in page
        assert "made up" not in page


@pytest.mark.parametrize("source", EXAMPLE_SOURCES)
async def test_an_example_that_was_sent_is_no_payload_of_the_platform(
    world: World, source: int
) -> None:
    world.send(world.good, "real", body=b'{"ref": "refs/heads/ours"}')
    repo_id = world.good["repo_id"]
    sent = IncomingEvent(repo_id, "sent", repo_id, "push", b'{"invented": 1}', source_id=source)
    world.store.write_sync(accept_all, [sent])
    async with open_dashboard(world.store, world.seed.token) as browser:
        page = text_of(await browser.page("/ui/catalogue/push"))
    assert "refs/heads/ours" in page
    assert "invented" not in page
    latest = world.store.read_sync(event_queries.latest, repo_id, "push")
    assert latest is not None
    assert latest["guid"] == "real"


async def test_the_examples_of_a_hook_are_complete(world: World) -> None:
    """A receiver of pull requests reads the branches and their repositories."""
    async with open_dashboard(world.store, world.seed.token) as browser:
        for event in ("pull_request", "issue_comment", "push"):
            page = await browser.page(f"/ui/hooks/{world.good['id']}/send?event={event}")
            (given,) = re.findall(r'name="payload"[^>]*>\n(.*?)</textarea>', page, re.DOTALL)
            example = json.loads(unescape(given))
            assert example["repository"]["full_name"] == "octo/hello"
            assert example["sender"]["node_id"]
            if event == "pull_request":
                pull = example["pull_request"]
                assert pull.keys() >= PullRequest.__required_keys__
                assert pull["head"]["repo"]["clone_url"] == example["repository"]["clone_url"]
                assert example["action"] == "opened"
            elif event == "issue_comment":
                assert example["comment"].keys() >= IssueComment.__required_keys__
            else:
                assert example["head_commit"]["author"]["email"]


async def test_the_example_of_no_repository_is_as_complete(world: World) -> None:
    async with open_dashboard(world.store, world.seed.token) as browser:
        page = text_of(await browser.page("/ui/catalogue/pull_request"))
    assert "quarter-bells" in page
    assert '"repository"' not in page


async def test_every_event_has_a_page(world: World) -> None:
    async with open_dashboard(world.store, world.seed.token) as browser:
        for name in sorted(PLATFORM_EVENTS | HUB_EVENTS):
            assert meaning(name) in text_of(await browser.page(f"/ui/catalogue/{name}"))


async def test_hooks_around_repositories_subscribe_too(world: World) -> None:
    acme = world.store.write_sync(accounts.create, "acme", kind="Organization")
    for target, events in ((SYSTEM, ["*"]), (organization(acme["id"]), ["team"])):
        url = f"https://receiver.example/{target.kind}"
        world.store.write_sync(hooks.create, target, url=url, events=events)
    found = world.store.read_sync(event_counts.subscribers, None)
    assert (found["team"], found["installation"]) == (2, 1)
    hello = [world.seed.hello["id"]]
    assert world.store.read_sync(event_counts.subscribers, hello)["team"] == 0
    assert world.store.read_sync(event_counts.subscribers, hello, [acme["id"]])["team"] == 1


def _install_everywhere(db: Connection) -> None:
    """Install an app with a hook on all of two accounts, and on two repositories of a third."""
    wide = [accounts.create(db, name, kind="Organization") for name in ("acme", "beta")]
    some = accounts.create(db, "gamma", kind="Organization")
    chosen = [repositories.create(db, some["id"], name)["id"] for name in ("one", "two")]
    about = {"url": "https://mill.example/", "kind": "integration", "events": ["push"]}
    _, app = apps.create(db, wide[0]["id"], "Mill", permissions={"contents": "read"}, **about)
    for account in wide:
        installations.create(db, app, account)
    installations.create(db, app, some, repositories=chosen)
    app_hooks.create(db, app, url="https://mill.example/hook")


async def test_an_app_s_hook_counts_once_however_often_it_is_installed(world: World) -> None:
    before = world.store.read_sync(event_counts.subscribers, None)["push"]
    world.store.write_sync(_install_everywhere)
    assert world.store.read_sync(event_counts.subscribers, None)["push"] == before + 1
    mine = [world.seed.hello["id"]]
    many = world.store.read_sync(event_counts.subscribers, mine)["push"]
    assert world.store.read_sync(event_counts.subscribers, mine, [EVERYWHERE])["push"] == many + 1


async def test_a_hook_s_form_offers_only_events_that_can_reach_it(world: World) -> None:
    async with open_dashboard(world.store, world.seed.token) as browser:
        page = await browser.page("/ui/hooks/new?repository=octo/hello")
        assert 'value="push"' in page
        assert 'value="installation"' not in page


async def test_members_of_a_platform_event_are_those_of_its_latest_payloads(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.send(
        world.good, "a", name="issues", body=b'{"action":"opened","issue":{"id":1,"body":null}}'
    )
    deep = b"[" * 900 + b"]" * 900
    world.send(
        world.good,
        "b",
        name="issues",
        body=b'{"issue":{"id":2,"body":"x"},"labels":["a",1],"deep":%b}' % deep,
    )
    world.send(world.good, "c", name="issues", body=b"no JSON")
    world.send(world.other, "d", name="issues", body=b'{"hidden":true}')
    async with open_dashboard(world.store, world.seed.token) as browser:
        page = text_of(await browser.page("/ui/catalogue/issues"))
        assert "as the latest 2 payloads had them" in page
        for row in (
            "action string 1 of 2",
            "issue object 2 of 2",
            "issue.body string or null 2 of 2",
            "labels list of string or integer 1 of 2",
            "deep list of list of list of list 1 of 2",
        ):
            assert row in page, row
        assert "hidden" not in page
        large = b'{"huge":"' + b"x" * (256 * 1024) + b'"}'
        world.send(world.good, "e", name="issues", body=large)
        page = text_of(await browser.page("/ui/catalogue/issues"))
        assert "as the latest 2 payloads had them" in page
        assert "huge" not in page
        monkeypatch.setattr("hub.ui.catalog.seen_members.MOST_SHOWN", 2)
        page = text_of(await browser.page("/ui/catalogue/issues"))
        assert "4 members more" in page
        # The hub's own events have a schema, so that the page needs no payloads.
        assert "had them" not in await browser.page("/ui/catalogue/agent_variable")
