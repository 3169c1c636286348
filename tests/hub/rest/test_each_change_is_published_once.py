"""Each change through the API publishes its events: once, in order, and to its subscribers."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from threading import Barrier, BrokenBarrierError
from typing import Any

import httpx
import pytest
from assertions import bodies
from engines import open_furnished
from hub_client import open_client
from operations_world import SECRET, Headers, Place, World, basic, bearer, first, make, path
from state_changes import STEPS, UNPUBLISHED, Step

from hub.operations import OPERATIONS
from hub.rest import resolve
from hub.settings import HubSettings
from store import Connection, Store
from store.accounts import accounts, teams, tokens
from store.apps import app_hooks
from store.checks import check_runs
from store.clock import MovableClock
from store.database.sqlite.engine import SqliteEngine
from store.errors import Invalid
from store.hooks import hooks
from store.hooks.event_names import OWN, WILDCARD
from store.issues import issues, milestones
from store.projection import projection_table
from store.repositories import refs

BY_ID = {one.id: one for one in OPERATIONS}
# The deletion of a hook publishes an event only if this hook itself has a subscription to it.
SILENT = {"repos/delete-webhook"}
# Tables that events, requests and authentications change.
BESIDE = {"event", "delivery", "audit", "audit_chain", "lease", "job", "minute"}


@pytest.fixture
def world(store: Store) -> World:
    """The world of all operations with more rows in it, and hooks that get every event."""
    made = make(store)
    store.write_sync(_more, made)
    return made


def _more(db: Connection, world: World) -> None:
    issue = {"number": 5, "title": "A crack", "state": "open"}
    issues.put(db, world.acme.repo, issue, projection_table.projected_events(db))
    due = {"number": 5, "title": "v1.0"}
    milestones.put(db, world.acme.repo, due, projection_table.projected_events(db))
    refs.put(db, world.hello.repo["id"], "refs/heads/tone", "4" * 40)
    org_id = world.acme.account["id"]
    accounts.create(db, "guest")
    for login in ("bass", "singer"):
        accounts.join(db, org_id, accounts.create(db, login)["id"], "member")
    singer = accounts.by_login(db, "singer")
    assert singer is not None
    team = teams.create(db, org_id, "choir")
    teams.join(db, team["id"], [singer["id"]])
    for repo in (world.hello.repo, world.vault.repo, world.acme.repo):
        names = [WILDCARD, *sorted(OWN["repository"])]
        hooks.create(db, repo["id"], url="https://all.example/", events=names)


@pytest.fixture
async def hub(
    store: Store, world: World, settings: HubSettings
) -> AsyncIterator[httpx.AsyncClient]:
    """A client without credentials. Each event that it causes is checked for its declaration."""
    async with open_client(store, settings) as opened:
        yield opened


def _headers(step: Step, world: World) -> Headers:
    if step.by == "app":
        return basic("mill-client", SECRET)
    if step.by == "mill":
        return bearer(_token_of_the_app(world))
    if step.by:
        account = world.store.read_sync(accounts.by_login, step.by)
        return world.token(account, scopes=["repo"])
    return first(BY_ID[step.operation], world)


def _token_of_the_app(world: World) -> str:
    given = {"permissions": {"checks": "write"}, "app_id": world.mill["id"]}
    octo = world.octo.account["id"]
    value, _ = world.store.write_sync(
        lambda db: tokens.create(db, octo, kind="installation", **given)
    )
    return value


async def _done(
    hub: httpx.AsyncClient, world: World, step: Step, *, by_id: bool = False
) -> httpx.Response:
    operation, body = BY_ID[step.operation], step.body
    changed = {
        name: str(one(world) if callable(one) else one) for name, one in step.changed.items()
    }
    if callable(body):
        body = body(world)
    sent: dict[str, Any] = {} if body is None else {"json": body}
    at = path(operation, world, **changed)
    if by_id:
        for repo in (world.hello.repo, world.acme.repo):
            at = at.replace(f"/repos/{repo['full_name']}/", f"/repositories/{repo['id']}/")
    return await hub.request(operation.method, at, headers=_headers(step, world), **sent)


def _newest(db: Connection) -> int:
    return db.value("SELECT coalesce(max(id), 0) FROM event") or 0


def _reported(db: Connection, after: int) -> tuple[str, ...]:
    rows = db.tuples("SELECT name, action FROM event WHERE id > :after ORDER BY id", after=after)
    return tuple(name if action is None else f"{name}.{action}" for name, action in rows)


async def test_each_change_is_published_once(hub: httpx.AsyncClient, world: World) -> None:
    before = world.store.read_sync(_newest)
    for step in STEPS:
        was, last = _state(world), world.store.read_sync(_newest)
        answer = await _done(hub, world, step)
        assert answer.is_success, f"{step}: {answer.text}"
        assert world.store.read_sync(_reported, last) == step.reported, step
        # Conversely, a request that publishes no event has changed nothing.
        assert step.reported or step.operation in SILENT or _state(world) == was, step
    world.store.read_sync(_delivered_once, before, world)


def _state(world: World) -> Any:
    if not isinstance(world.store.engine, SqliteEngine):
        return None
    return {name: rows for name, rows in world.state().items() if name not in BESIDE}


def _delivered_once(db: Connection, after: int, world: World) -> None:
    """Assert that each event has at most one delivery, to the hook that gets every event.

    A `ping` or `meta` goes to the one hook that it concerns. The end of a user's grant for an app
    goes to the app's hook.
    """
    own = app_hooks.receiving(db, world.mill["id"])
    assert own is not None
    made = db.tuples(
        "SELECT e.id, e.name, e.repo_id, d.hook_id FROM event e LEFT JOIN delivery d"
        " ON d.event_id = e.id WHERE e.id > :after ORDER BY e.id",
        after=after,
    )
    times = Counter(row[0] for row in made)
    assert set(times.values()) == {1}
    all_of_it = dict(db.tuples("SELECT repo_id, id FROM hook WHERE url = 'https://all.example/'"))
    for _, name, repo_id, hook_id in made:
        if name == "github_app_authorization":
            assert hook_id == own
        elif name not in ("ping", "meta"):
            assert hook_id == all_of_it.get(repo_id), f"{name} of {repo_id}"


def test_every_operation_that_writes_is_there() -> None:
    writing = {one.id for one in OPERATIONS if one.writes}
    stepped = {step.operation for step in STEPS}
    assert not stepped & UNPUBLISHED.keys()
    assert writing - stepped == UNPUBLISHED.keys()


# Each of these events needs several requests. Other tests check them.
REPORTED_BY_OTHER_TESTS = {
    ("assistant/add-assistant-seats-for-teams", "assistant_seat.cancelled"),
    ("assistant/add-assistant-seats-for-users", "assistant_seat.cancelled"),
    ("activity/set-repo-subscription", "repository_subscription.deleted"),
    ("issues/add-issue-field-values", "issues.field_removed"),
    ("repos/add-collaborator", "member.added"),
    ("repos/add-collaborator", "repository_invitation.deleted"),
    ("repos/accept-invitation-for-authenticated-user", "member.edited"),
    ("interactions/set-restrictions-for-org", "interaction_limit.expired"),
    ("interactions/set-restrictions-for-org", "interaction_limit.removed"),
    ("interactions/set-restrictions-for-repo", "interaction_limit.expired"),
    ("interactions/set-restrictions-for-authenticated-user", "interaction_limit.expired"),
    ("interactions/set-restrictions-for-authenticated-user", "interaction_limit.removed"),
}


def test_every_declared_event_is_published() -> None:
    reported = {(step.operation, event) for step in STEPS for event in step.reported}
    declared = {(one.id, event) for one in OPERATIONS for event in one.emits}
    assert (
        declared - reported - {one for one in declared if one[0] in UNPUBLISHED}
        == REPORTED_BY_OTHER_TESTS
    )


async def test_concurrent_changes_are_published_in_order(
    hub: httpx.AsyncClient, world: World
) -> None:
    """The last event of a row with many concurrent changes has its final state."""
    place: Place = world.hello
    headers = world.token(scopes=["repo"])
    at = f"/repos/octo/hello/comments/{place.comment}"

    async def change(number: int) -> None:
        answer = await hub.patch(at, headers=headers, json={"body": f"{number}"})
        assert answer.status_code == 200

    await asyncio.gather(*(change(number) for number in range(20)))
    reported = [body["comment"]["body"] for body in bodies(world.store, "commit_comment_change")]
    assert sorted(reported, key=int) == [str(number) for number in range(20)], (
        "each change is published once"
    )
    shown = (await hub.get(at, headers=headers)).json()
    assert shown["body"] == reported[-1]


# Operations of which two requests can find the same state.
BY_TWO_HUBS = (
    "checks/update",
    "enterprise-teams/update",
    "enterprise-team-memberships/bulk-add",
    "enterprise-team-organizations/bulk-remove",
    "issues/update-label",
    "issues/update-milestone",
    "repos/update-commit-comment",
    "repos/update-invitation",
    "secret-scanning/update-org-pattern-configs",
)


@pytest.mark.parametrize("url", ["postgres"], indirect=True)
async def test_a_change_by_two_hubs_is_published_once(
    hub: httpx.AsyncClient,
    world: World,
    settings: HubSettings,
    url: str,
    tmp_path: Path,
    clock: MovableClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both hubs try to read the rows of the path before one of them has committed its change."""
    read, together = resolve.resolve_path, [Barrier(1)]

    def met(*given: Any) -> Any:
        found = read(*given)
        with suppress(BrokenBarrierError):
            together[0].wait(0.3)
        return found

    monkeypatch.setattr(resolve, "resolve_path", met)
    async with open_client(open_furnished(url, tmp_path, clock), settings) as other:
        for step in STEPS:
            hubs = [hub, other] if step.operation in BY_TWO_HUBS else [hub]
            together[0], last = Barrier(len(hubs)), world.store.read_sync(_newest)
            # The second hub gets the path of a client that followed a renamed repository.
            requests = (_done(one, world, step, by_id=one is other) for one in hubs)
            answers = await asyncio.gather(*requests)
            assert all(answer.is_success for answer in answers), step
            reported = world.store.read_sync(_reported, last)
            assert sorted(reported) == sorted(step.reported), step


async def test_a_failed_operation_publishes_nothing(
    hub: httpx.AsyncClient, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The operation emits the event of the check suite before the check run is refused."""

    def refuse(*_: Any) -> None:
        raise Invalid("too many check runs")

    last = world.store.read_sync(_newest)
    headers = bearer(_token_of_the_app(world))
    sent: dict[str, Any] = {"headers": headers, "json": {"name": "ring", "head_sha": "3" * 40}}
    with monkeypatch.context() as patched:
        patched.setattr(check_runs, "create", refuse)
        answer = await hub.post("/repos/octo/hello/check-runs", **sent)
    assert answer.status_code == 422
    assert world.store.read_sync(_reported, last) == ()
    answer = await hub.post("/repos/octo/hello/check-runs", **sent)
    assert answer.status_code == 201
    assert world.store.read_sync(_reported, last) == ("check_suite.requested", "check_run.created")
