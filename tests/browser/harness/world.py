"""The data of the dashboard that the browser tests share."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from app_tokens import app_key

from store import Connection
from store.accounts import accounts, apps, tokens
from store.apps import app_hooks, app_keys, installations
from store.clock import DAY
from store.delivery import event_queries, events
from store.delivery.incoming import IncomingEvent
from store.delivery.replays import replay_runs
from store.delivery.replays.replay_selection import ReplaySelection
from store.hooks import hook_links, hooks
from store.imports import imports
from store.openid import openid_links
from store.repositories import repositories
from store.repositories.interaction_limits import limit_repository

SECRET = "ring the bells"
# Nothing listens there.
CLOSED = "http://127.0.0.1:1025/closed"


@dataclass(frozen=True)
class World:
    """Ids and tokens. root is a site administrator. ada administers ada/engine and ada/empty, and
    bob administers only the private bob/tower.
    """

    root: str
    ada: str
    bob: str
    engine: int
    tower: int
    empty: int
    """A repository of ada's with an import that failed."""
    good: int
    """A hook of ada/engine for pushes and issues, whose receiver answers."""
    failing: int
    """A hook of ada/engine without a receiver. A delivery has one attempt, and no retry."""
    retrying: int
    """A hook of ada/engine without a receiver. A delivery has a retry after an hour."""
    disabled: int
    towers: int
    """A hook of bob/tower."""
    event: int
    """An event of ada/engine to which no hook subscribes."""
    replay: int
    """A replay of ada/engine that selects no event, and ends as soon as a worker runs."""
    link: str
    """The value at the end of a link to the hook `good`."""
    app: int
    """An app that is installed on ada, with a key and a hook."""


def fill_store(db: Connection, receiver: str) -> World:
    """Create the data. ada/engine must exist. A worker sends the deliveries later."""
    root = accounts.create(db, "root", site_admin=True)
    ada, bob = accounts.by_login(db, "ada"), accounts.create(db, "bob")
    engine = repositories.find(db, "ada", "engine")
    assert ada is not None
    assert engine is not None
    empty = repositories.create(db, ada["id"], "empty")
    imports.start(db, empty["id"], ada["id"], f"{CLOSED}.git")
    tower = repositories.create(db, bob["id"], "tower", private=True)

    def hook(repo: dict[str, Any], url: str, named: Iterable[str], **options: Any) -> int:
        made = hooks.create(
            db, repo["id"], url=url, events=named, content_type="json", secret=SECRET,
            options=options,
        )  # fmt: skip
        return int(made["id"])

    good = hook(engine, f"{receiver}/good", ["push", "issues"])
    failing = hook(engine, CLOSED, ["push"], retries=[0])
    retrying = hook(engine, CLOSED + "/later", ["push"], retries=[0, 3600])
    disabled = hook(engine, f"{receiver}/disabled", ["push"])
    towers = hook(tower, f"{receiver}/tower", ["push"])
    found = hooks.by_id(db, disabled)
    assert found is not None
    hooks.update(db, found, active=False)
    limit_repository(db, engine, "collaborators_only", db.now + DAY)
    openid_links.add(db, ada["id"], "https://login.tower.example/realms/tower", "f1d2" * 60)
    post(db, engine["id"], "push", 3)
    post(db, engine["id"], "issues", 2, action="opened")
    post(db, engine["id"], "fork", 1)
    post(db, tower["id"], "push", 1)
    (fork,) = event_queries.newest(db, limit=1, name="fork")
    nothing = ReplaySelection(until=1, repo_id=engine["id"])
    return World(
        _token(db, root["id"], "admin:enterprise"), _token(db, ada["id"]), _token(db, bob["id"]),
        engine["id"], tower["id"], empty["id"], good, failing, retrying, disabled, towers,
        fork["id"], replay_runs.create(db, nothing, "ada")["id"],
        hook_links.create(db, good, "receiver's team", "ada", 30 * DAY)[0],
        _app(db, ada, engine["id"], f"{receiver}/app"),
    )  # fmt: skip


def _app(db: Connection, owner: dict[str, Any], repo_id: int, url: str) -> int:
    _, app = apps.create(
        db, owner["id"], "Mill", permissions={"contents": "read"}, url="https://mill.example/",
        kind="integration", events=["release"],
    )  # fmt: skip
    app_keys.add(db, app["id"], app_key(0)[1])
    app_hooks.create(db, app, url=url, content_type="json", secret=SECRET)
    installations.create(db, app, owner, repositories=[repo_id])
    return int(app["id"])


def _token(db: Connection, account_id: int, *more: str) -> str:
    return tokens.create(db, account_id, scopes=["repo", "admin:repo_hook", *more])[0]


def post(db: Connection, repo_id: int, name: str, many: int, **fields: Any) -> None:
    """Accept `many` events, as if they had been posted."""
    body = {"ref": "refs/heads/main", "commits": [], **fields}
    events.accept_all(
        db,
        [
            IncomingEvent(
                repo_id, f"{name}-{repo_id}-{at}", repo_id, name, json.dumps(body).encode()
            )
            for at in range(many)
        ],
    )
