"""No link of the dashboard leads a viewer to a page that they may not open, or that is missing."""

import re
from collections import Counter
from dataclasses import dataclass
from html import unescape

import pytest
from dashboard_client import Browser, open_dashboard
from ui_rows import arrive
from ui_world import OPERATING, World, deliver, hook

from store import Connection, Row
from store.accounts import accounts, tokens
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
FEWEST = 15


@dataclass(frozen=True)
class Kind:
    """A kind of user: a login of `people_of`, and the scopes of the token."""

    login: str
    scopes: tuple[str, ...]


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


async def crawl(browser: Browser) -> dict[str, tuple[int, str]]:
    """Follow every link from the overview. Return the status of each, and the page with it."""
    found: dict[str, tuple[int, str]] = {}
    seen: Counter[str] = Counter()
    open_links = [("/ui", "")]
    while open_links:
        place, cause = open_links.pop()
        shape = re.sub(r"=[^&]*", "", place)
        seen[shape] += 1
        if place in found or seen[shape] > ALIKE:
            continue
        answer = await browser.get(place)
        found[place] = answer.status_code, cause
        here = place.partition("?")[0]
        open_links += [(unescape(link), here) for link in LINK.findall(answer.text)]
    return found


@pytest.mark.parametrize("kind", KINDS, ids=lambda one: "-".join((one.login, *one.scopes)))
async def test_each_link_leads_to_a_page_that_the_viewer_may_open(world: World, kind: Kind) -> None:
    people_of(world)
    value = world.store.write_sync(token, kind)
    async with open_dashboard(world.store, value, imports=True, api_reference="public") as browser:
        found = await crawl(browser)
    wrong = {place: told for place, told in found.items() if told[0] not in (200, 303)}
    assert wrong == {}
    assert len(found) >= FEWEST
