"""WebSub in the store: its migration, and its effects on the rest of the store."""

from pathlib import Path

import pytest
from engines import ENGINES
from postgres_databases import database
from transactions import transaction
from websub_followers import follow, follow_pushes

from store import open_store
from store.accounts import accounts
from store.clock import HOUR, MovableClock
from store.database import encrypted_columns, migrations
from store.database.connection import Connection, Row
from store.database.store import Store
from store.delivery import (
    deliveries,
    delivery_queries,
    events,
    fan_out,
    future_times,
    hook_removal,
    subscribers,
)
from store.delivery.incoming import IncomingEvent, Receipt
from store.delivery.replays import replay_selection
from store.delivery.replays.replay_selection import ReplaySelection
from store.delivery.websub import websub, websub_foreign
from store.delivery.websub import websub_requests as requests
from store.delivery.websub.websub_topics import Topic, external_topic, normalize_url
from store.hooks import hook_queries, hooks
from store.repositories import repositories


def _push(db: Connection, repo_id: int, guid: str) -> Receipt:
    (receipt,) = events.accept_all(db, [IncomingEvent(repo_id, guid, repo_id, "push", b"{}")])
    return receipt


def _repository(db: Connection) -> Row:
    return repositories.create(db, accounts.create(db, "ada")["id"], "engine")


@pytest.mark.parametrize("engine", ENGINES)
def test_subscriptions_survive_the_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    if engine == "sqlite":
        _migrate("sqlite", tmp_path, monkeypatch)
        return
    with database(migrated=False) as url:
        _migrate(url, tmp_path, monkeypatch)


def _migrate(url: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = migrations.steps()
    monkeypatch.setattr(migrations, "steps", lambda: known[:5])
    monkeypatch.setattr(encrypted_columns, "ENCRYPTED_COLUMNS", ())
    store = open_store(url, data_dir=folder)
    store.write_sync(_made_then)
    store.shut()
    monkeypatch.undo()
    store = open_store(url, data_dir=folder)
    repo = store.read_sync(repositories.find, "ada", "engine")
    assert repo is not None
    assert store.write_sync(_push, repo["id"], "1").deliveries == 1
    hook = store.read_sync(hook_queries.every)[0]
    store.write_sync(hook_removal.delete, hook)
    assert store.write_sync(_push, repo["id"], "2").deliveries == 0
    store.write_sync(lambda db: db.execute("DELETE FROM hook"))
    store.write_sync(follow_pushes, repo["id"])
    store.write_sync(lambda db: db.execute("DELETE FROM repository"))
    assert store.read_sync(lambda db: db.value("SELECT count(*) FROM subscription")) == 0
    store.shut()


def _made_then(db: Connection) -> None:
    """Insert rows as the program of that migration step would have inserted them."""
    given = {"now": db.now}
    db.execute(
        "INSERT INTO account (login, login_key, kind, created_at, updated_at)"
        " VALUES ('ada', 'ada', 'User', :now, :now)",
        **given,
    )
    db.execute(
        "INSERT INTO repository (owner_id, name, name_key, created_at, updated_at)"
        " SELECT id, 'engine', 'engine', :now, :now FROM account",
        **given,
    )
    db.execute(
        "INSERT INTO hook (repo_id, url, content_type, events, options, created_at, updated_at)"
        " SELECT id, 'https://x.example/', 'json', '[\"push\"]', '{}', :now, :now FROM repository",
        **given,
    )
    db.execute(
        "INSERT INTO subscription (repo_id, event, hook_id) SELECT repo_id, 'push', id FROM hook"
    )


def test_hooks_know_nothing_of_it(store: Store) -> None:
    repo = store.write_sync(_repository)
    store.write_sync(follow_pushes, repo["id"])
    assert store.read_sync(hook_queries.every) == []
    assert store.read_sync(hook_queries.count, repo["id"]) == 0
    assert store.read_sync(hook_queries.page, repo["id"], limit=10) == []
    assert store.read_sync(hooks.by_id, -1) is None
    assert store.write_sync(_push, repo["id"], "1").deliveries == 1
    (row,) = store.read_sync(delivery_queries.page, limit=10)
    assert (row["hook_id"], row["url"]) == (-1, "https://reader.example/")
    assert store.read_sync(replay_selection.total, ReplaySelection())[0] == 0
    assert store.read_sync(fan_out.versions, {-1, 1}) == {-1: 1}
    assert store.write_sync(deliveries.claim, [-1], 1, 10)[0][0].hook_id == -1


def test_a_subscription_ends_once(store: Store) -> None:
    repo = store.write_sync(_repository)
    store.write_sync(follow_pushes, repo["id"])
    store.write_sync(follow_pushes, repo["id"], "https://reader.example/2")
    assert [row["id"] for row in store.write_sync(websub.end, {1: "a", 9: "b"})] == [1]
    assert store.write_sync(websub.end, {1: "c"}) == []
    assert store.write_sync(websub.end_gone, {-2: "410"}) == {-2}
    assert store.write_sync(_push, repo["id"], "1").deliveries == 0


def test_requests_are_limited_for_each_host_and_address(store: Store) -> None:
    repo = store.write_sync(_repository)
    topic = Topic(repo["id"], "push", "https://hub.example/ada/engine/events/push")
    wish = requests.WebSubRequest(
        "subscribe", topic.self_url, topic, "https://hub.example/hub/websub", "https://x.example/",
        None, 3600, None, "x.example", "192.0.2.1",
    )  # fmt: skip
    store.write_sync(requests.create, wish, 2, 9)
    store.write_sync(requests.create, wish, 2, 9)
    with pytest.raises(requests.RequestRateExceeded, match="host"):
        store.write_sync(requests.create, wish, 2, 9)
    with pytest.raises(requests.RequestRateExceeded, match="address"):
        store.write_sync(requests.create, wish, 9, 2)


def test_one_topic_has_one_name() -> None:
    assert normalize_url("https://x/%7Ea%2fb?%e9=é") == "https://x/~a%2Fb?%E9=%C3%A9"
    assert external_topic("https://x/%61") == external_topic("https://x/a")
    assert external_topic("https://x/%2f") != external_topic("https://x//")


def test_fetched_topics_go_once_nobody_follows_them(store: Store) -> None:
    names = ("gone", "followed", "due", "young")
    topics = {name: external_topic(f"https://blog.example/{name}") for name in names}

    def fetch(db: Connection) -> None:
        for topic in topics.values():
            follow(db, topic, topic.self_url + "/reader")
            assert websub_foreign.mark_changed(db, topic)
        for row in websub_foreign.claim(db, 9):
            websub_foreign.mark_unchanged(db, row)
        assert websub_foreign.mark_changed(db, topics["due"])

    store.write_sync(fetch)
    assert steps(store) == [0, 0, 0]
    with transaction(store) as db:
        db.execute(
            "UPDATE websub SET ended_at = :now WHERE topic_key <> :key",
            now=db.now,
            key=topics["followed"].key,
        )
        db.execute(
            "UPDATE websub_topic SET fetched_at = :later WHERE key = :key",
            later=db.now + 60_000_000,
            key=topics["young"].key,
        )
    assert steps(store) == [1, 0, 0]
    left = {row["url"] for row in store.read_sync(subscribers.list_external_topics, 9)}
    assert left == {topic.self_url for name, topic in topics.items() if name != "gone"}


def steps(store: Store) -> list[int]:
    """Take steps over two topics each, until the last one. Return how many each has deleted."""
    dropped, reached = [], 0
    while True:
        before = store.clock.now() + 30_000_000
        step = store.write_sync(websub_foreign.drop_unfollowed, before, 2, reached)
        dropped.append(step.dropped)
        if step.reached is None:
            return dropped
        reached = step.reached


def test_requests_and_topics_of_a_fast_clock_are_due_after_pruning(
    store: Store, clock: MovableClock
) -> None:
    topic = external_topic(normalize_url("https://site.example/feed"))

    def request(db: Connection) -> int:
        wish = requests.WebSubRequest(
            "subscribe", topic.self_url, topic, "https://hub.example/hub/websub",
            "https://reader.example/", None, 3600, None, "reader.example", "192.0.2.1",
        )  # fmt: skip
        return requests.create(db, wish, 3, 3)

    clock.advance(365 * 86_400)
    store.write_sync(follow, topic, "https://reader.example/")
    waiting, taken = store.write_sync(request), store.write_sync(request)
    store.write_sync(lambda db: requests.retry_later(db, requests.claim(db, 1)[0], "no answer"))
    assert [row["id"] for row in store.write_sync(requests.claim, 9)] == [taken]
    assert store.write_sync(websub_foreign.mark_changed, topic)
    clock.advance(-365 * 86_400)
    assert store.write_sync(requests.claim, 9) == store.write_sync(websub_foreign.claim, 9) == []
    ahead = store.clock.now() + HOUR
    assert store.write_sync(future_times.end_far_websub_times, ahead, 3) == 3
    assert store.write_sync(future_times.end_far_websub_times, ahead, 3) == 1
    assert [row["id"] for row in store.write_sync(requests.claim, 9)] == [waiting, taken]
    assert len(store.write_sync(websub_foreign.claim, 9)) == 1
    with pytest.raises(requests.RequestRateExceeded):
        store.write_sync(request)
    clock.advance(61)
    store.write_sync(request)


def test_a_topic_fetched_by_a_fast_clock_is_fetched_again_at_once(
    store: Store, clock: MovableClock
) -> None:
    topic = external_topic(normalize_url("https://site.example/feed"))
    clock.advance(365 * 86_400)
    store.write_sync(follow, topic, "https://reader.example/")
    assert store.write_sync(websub_foreign.mark_changed, topic)
    (taken,) = store.write_sync(websub_foreign.claim, 9)
    store.write_sync(websub_foreign.mark_unchanged, taken)
    clock.advance(-365 * 86_400)
    assert store.write_sync(websub_foreign.mark_changed, topic)
    assert len(store.write_sync(websub_foreign.claim, 9)) == 1


def test_old_subscriptions_and_requests_are_deleted_in_batches(
    store: Store, clock: MovableClock
) -> None:
    repo = store.write_sync(_repository)
    for number in range(5):
        store.write_sync(follow_pushes, repo["id"], f"https://reader.example/{number}")
    ids = store.read_sync(websub.list_subscription_ids, repo["id"])
    store.write_sync(websub.end, dict.fromkeys(ids, "over"))
    clock.advance(3600)
    store.write_sync(follow_pushes, repo["id"], "https://reader.example/later")
    for drop in (websub.drop, requests.drop):
        assert [store.write_sync(drop, clock.now(), 2) for _ in range(3)] == [2, 2, 1]
    assert len(store.read_sync(websub.list_subscription_ids, repo["id"])) == 1
    assert len(store.read_sync(requests.page, limit=9)) == 1
