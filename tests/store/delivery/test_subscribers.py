"""Counts and lists of subscribers, and lists of repositories and interaction limits."""

from engines import embedded
from statement_log import plan_lines
from store_world import World
from transactions import transaction
from websub_followers import follow

from store import Connection
from store.clock import DAY
from store.delivery import subscribers
from store.delivery.listing import topic_list
from store.delivery.listing.topic_list import TopicFilter
from store.delivery.websub import websub_requests
from store.delivery.websub.websub_topics import Topic
from store.repositories import interaction_limits

HUB = "https://hub.example/hub"


def follow_key(db: Connection, repo_id: int, key: str, callback: str) -> None:
    topic = Topic(repo_id, key, f"https://forge.example/ada/engine/events/{key}")
    follow(db, topic, callback)


@embedded("PostgreSQL chooses by the number of requests")
def test_a_claim_of_requests_reads_none_that_are_done(world: World) -> None:
    with transaction(world.store) as db:
        lines = plan_lines(db, lambda db: websub_requests.claim(db, 5))
    assert "SEARCH websub_request USING INDEX websub_request_due (due_at<?)" in lines
    assert "SCAN websub_request" not in lines


def test_subscribers_of_events(world: World) -> None:
    world.hook("push", "star"), world.hook("*"), world.hook("push", active=False)
    assert world.store.read_sync(subscribers.counts_by_event, world.repo["id"]) == {
        "push": {"hooks": 1, "followers": 0},
        "star": {"hooks": 1, "followers": 0},
        "*": {"hooks": 1, "followers": 0},
    }
    rows = world.store.read_sync(subscribers.hooks_of_event, world.repo["id"], "push", 10)
    assert [(row["id"], row["every"]) for row in rows] == [(1, 0), (2, 1)]
    assert world.store.read_sync(subscribers.counts_by_event, 99) == {}


def test_followers_of_a_topic(world: World) -> None:
    world.store.write_sync(follow_key, world.repo["id"], "push", "https://a.example/")
    world.store.write_sync(follow_key, world.repo["id"], "events.atom", "https://b.example/")
    counts = world.store.read_sync(subscribers.counts_by_event, world.repo["id"])
    assert counts["push"] == {"hooks": 0, "followers": 2}
    assert counts["issues"] == {"hooks": 0, "followers": 1}
    found = world.store.read_sync(subscribers.subscription_counts, world.repo["id"])
    assert found == {"push": 1, "events.atom": 1}
    rows = world.store.read_sync(subscribers.list_subscriptions, limit=10)
    assert [row["callback"] for row in rows] == ["https://b.example/", "https://a.example/"]
    assert rows[0]["repository"] == "ada/engine"
    assert rows[0]["lease_ends_at"] > world.now
    older = world.store.read_sync(subscribers.list_subscriptions, limit=10, before=rows[0]["id"])
    assert older == rows[1:]
    assert world.store.read_sync(subscribers.list_subscriptions, limit=10, repo_ids=[99]) == []
    assert (
        len(
            world.store.read_sync(
                subscribers.list_subscriptions, limit=10, repo_ids=[world.repo["id"]]
            )
        )
        == 2
    )
    assert world.store.read_sync(subscribers.list_external_topics, 10) == []


def test_repositories_with_their_subscribers(world: World) -> None:
    other = world.another_repo(private=True)
    world.hook("push")
    rows = world.store.read_sync(topic_list.page, TopicFilter(), limit=10)
    assert [(row["full_name"], row["hooks"], row["followers"]) for row in rows] == [
        ("ada/engine", 1, 0),
        ("ada/other", 0, 0),
    ]
    (row,) = world.store.read_sync(topic_list.page, TopicFilter(), limit=10, skip=1)
    assert (row["id"], row["private"]) == (other["id"], 1)
    only = world.store.read_sync(topic_list.page, TopicFilter([world.repo["id"]]), limit=10)
    assert [row["id"] for row in only] == [world.repo["id"]]


def test_limits_the_first_to_end_first(world: World) -> None:
    other = world.another_repo()
    store, now = world.store, world.now
    store.write_sync(
        interaction_limits.limit_repository, world.repo, "existing_users", now + 2 * DAY
    )
    store.write_sync(interaction_limits.limit_repository, other, "existing_users", now + DAY)
    rows = store.read_sync(interaction_limits.ending_next, 10)
    assert [row["repository"] for row in rows] == ["ada/other", "ada/engine"]
    assert [
        row["repository"]
        for row in store.read_sync(interaction_limits.ending_next, 10, [world.repo["id"]])
    ] == ["ada/engine"]
    world.clock.advance(86_400)
    assert len(store.read_sync(interaction_limits.ending_next, 10)) == 1
    store.write_sync(
        interaction_limits.limit_account, world.user["id"], "collaborators_only", now + 9 * DAY
    )
    (row,) = store.read_sync(interaction_limits.ending_next, 10, [other["id"]])
    assert (row["account"], row["kind"], row["repository"]) == ("ada", "User", None)
    assert store.read_sync(interaction_limits.ending_next, 10, []) == []
