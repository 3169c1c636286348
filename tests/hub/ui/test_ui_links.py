"""No link of the dashboard leads a viewer to a page that they may not open, or that is missing."""

import re
from collections import Counter
from dataclasses import dataclass
from html import unescape
from typing import Any

import pytest
from dashboard_client import Browser, open_dashboard
from required import required
from ui_rows import arrive
from ui_world import OPERATING, World, deliver, hook

from store import Connection, Row
from store.accounts import accounts, apps, grants, tokens
from store.apps import installations
from store.delivery import hook_removal
from store.delivery.replays import replay_runs
from store.delivery.replays.replay_selection import ReplaySelection
from store.hooks import hooks
from store.hooks.hook_targets import HookTarget
from store.imports import imports
from store.jobs import jobs
from store.jobs.jobs import JobSchedule
from store.repositories import repositories

LINK = re.compile(r'href="(/ui[^"#]*)')
# Many links differ only in the values of their query. The crawl opens so many of them.
ALIKE = 3
# Hundreds of pages show nothing but a schema of the API. One kind of user opens them all, and the
# others as many as of links that are alike.
SCHEMA = re.compile(r"(?<=^/ui/reference/schemas/)[^/?]+")
FEWEST = 15
# Repositories and hooks outside of octo/hello, of which only operators or their owners may know.
HIDDEN = ("vault", "example/hidden", "example/bell", "tower/bell", "all.example", "git.example")
PERMISSIONS = ("administration", "contents", "issues", "organization_hooks", "webhooks")


@dataclass(frozen=True)
class Kind:
    """A kind of user: a login of `people_of`, and the scopes of the token."""

    login: str
    scopes: tuple[str, ...]


@dataclass(frozen=True)
class CrawledPage:
    """The answer to a link. `cause` is the page with the link."""

    status: int
    cause: str
    text: str


ALL = ("repo", "admin:repo_hook", "admin:org_hook")
KINDS = (
    Kind("root", tuple(OPERATING)),
    Kind("root", ("read:enterprise",)),
    Kind("root", ("read:repo_hook", "read:enterprise")),
    Kind("octo", ALL),
    Kind("owner", ALL),
    Kind("owner", ("admin:org_hook",)),
    Kind("owner", ("read:repo_hook",)),
    Kind("writer", ALL),
    Kind("writer", ()),
    Kind("reader", ALL),
    Kind("reader", ()),
)


def people_of(world: World) -> None:
    """Create an organization with its owner, and a writer and a reader of octo/hello."""
    world.store.write_sync(_furnish, world)
    for one in (world.good, world.failing, world.hidden, world.other):
        world.send(one, f"g-{one['id']}", status_code=500)
    removed = world.store.write_sync(lambda db: hook(db, world.seed.hello["id"], "removed"))
    world.send(removed, "g-3")
    world.store.write_sync(hook_removal.delete, removed)


def _furnish(db: Connection, world: World) -> None:
    made = {name: accounts.create(db, name) for name in ("owner", "writer")}
    org = accounts.create(db, "tower", kind="Organization")
    accounts.join(db, org["id"], made["owner"]["id"], "admin")
    repo = repositories.create(db, org["id"], "bell", private=True)
    hook(db, repo["id"], "bell")
    for target in (HookTarget("organization", org["id"]), HookTarget("system", 0)):
        around = hooks.create(db, target, url="https://all.example/in", events=["push"])
        # They get the events of the repository, but do not belong to it.
        deliver(db, {**around, "repo_id": repo["id"]}, [f"around-{around['id']}"], status_code=500)
    subscriber = {"id": -1, "repo_id": world.seed.hello["id"], "url": "https://reader.example/"}
    deliver(db, subscriber, ["websub"])
    for one, role in ((made["writer"], "write"), (world.seed.reader, "read")):
        repositories.grant(db, world.seed.hello["id"], one["id"], role)
    for repo_id in (world.seed.hello["id"], world.seed.vault["id"], repo["id"], 0):
        arrive(db, repo_id, 2)
        arrive(db, repo_id, name="pull_request", body=b'{"action": "opened"}', action="opened")
    imports.start(db, repo["id"], org["id"], "https://git.example/it.git", vcs="git")
    jobs.save_schedules(db, [JobSchedule("prune", "* * * * *", None)])
    for selection in (ReplaySelection(repo_id=repo["id"]), ReplaySelection()):
        replay_runs.create(db, selection, "root")


def token(db: Connection, kind: Kind) -> str:
    account: Row | None = accounts.by_login(db, kind.login)
    assert account is not None
    return tokens.create(db, account["id"], scopes=kind.scopes)[0]


async def crawl(browser: Browser, kind: Kind | None = None) -> dict[str, CrawledPage]:
    """Follow every link from the overview, and of links that are alike the first."""
    found: dict[str, CrawledPage] = {}
    seen: Counter[str] = Counter()
    open_links = [("/ui", "")]
    while open_links:
        place, cause = open_links.pop()
        if place in found:
            continue
        shape = re.sub(r"=[^&]*", "", place if kind is KINDS[0] else SCHEMA.sub("", place))
        seen[shape] += 1
        if seen[shape] > ALIKE:
            continue
        answer = await browser.get(place)
        found[place] = CrawledPage(answer.status_code, cause, answer.text)
        here = place.partition("?")[0]
        open_links += [(unescape(link), here) for link in LINK.findall(answer.text)]
    return found


@pytest.mark.parametrize("kind", KINDS, ids=lambda one: "-".join((one.login, *one.scopes)))
async def test_each_link_leads_to_a_page_that_the_viewer_may_open(world: World, kind: Kind) -> None:
    people_of(world)
    value = world.store.write_sync(token, kind)
    async with open_dashboard(world.store, value, imports=True, api_reference="public") as browser:
        found = await crawl(browser, kind)
    assert closed(found) == {}
    assert len(found) >= FEWEST


def closed(found: dict[str, CrawledPage]) -> dict[str, tuple[int, str]]:
    """The links of a crawl that lead to no page, each with its status and the page that has it."""
    return {
        place: (page.status, page.cause)
        for place, page in found.items()
        if page.status not in (200, 303)
    }


def limited_token(db: Connection, login: str, *installed: Row) -> str:
    """A token of this user that needs an app, which octo installed for these repositories."""
    account = required(accounts.by_login(db, login))
    most: dict[str, Any] = {"permissions": dict.fromkeys(PERMISSIONS, "write")}
    owner = required(accounts.by_login(db, "reader"))
    _, app = apps.create(
        db, owner["id"], "Mill", url="https://mill.example/", kind="integration", **most
    )
    octo = required(accounts.by_login(db, "octo"))
    installations.create(db, app, octo, repositories=[repo["id"] for repo in installed])
    return grants.issue(db, app, account["id"])[0]


@pytest.mark.parametrize(("login", "covers"), [("octo", True), ("owner", False)])
async def test_the_pages_of_a_limited_token_name_nothing_where_the_app_is_not_installed(
    world: World, login: str, covers: bool
) -> None:
    people_of(world)
    value = world.store.write_sync(limited_token, login, world.seed.hello)
    async with open_dashboard(world.store, value, imports=True, api_reference="public") as browser:
        found = await crawl(browser)
    assert closed(found) == {}
    assert {name for name in HIDDEN if naming(found, name)} == set()
    assert bool(naming(found, "receiver.example/failing")) == covers


def naming(found: dict[str, CrawledPage], name: str) -> list[str]:
    """The pages of a crawl that have a name."""
    return [place for place, page in found.items() if name in page.text]
