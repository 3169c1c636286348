"""`tocsin websub`: subscriptions are listed and ended."""

from store.accounts import accounts
from store.delivery.websub import websub
from store.delivery.websub import websub_requests as requests
from store.delivery.websub.websub_topics import Topic
from store.repositories import repositories


def _followed(db):
    owner = accounts.create(db, "ada")
    repo = repositories.create(db, owner["id"], "engine")
    topic = Topic(repo["id"], "push", "https://hub.example/ada/engine/events/push")
    wish = requests.WebSubRequest(
        mode="subscribe",
        topic=topic.self_url,
        of=topic,
        hub="https://hub.example/hub/websub",
        callback="https://reader.example/in?x",
        secret="s",
        lease_seconds=3600,
        verify_token=None,
        host="reader.example",
        client="192.0.2.1",
    )
    requests.create(db, wish, 60, 60)
    (request,) = requests.claim(db, 1)
    requests.complete(db, request, "verified", db.now)


def test_subscriptions_are_listed_and_ended(store, listed, run):
    assert listed("websub", "list") == []
    assert "POST /hub/websub" in run("websub", "list").stderr
    store.write_sync(_followed)
    (row,) = listed("websub", "list")
    assert row["callback"] == "https://reader.example/in?x"
    assert (row["state"], row["signed"]) == ("active", True)
    assert listed("hook", "list") == []
    assert listed("websub", "show", row["id"]) == row
    assert "ended" in run("websub", "remove", "--yes", row["id"], "--reason", "enough").stdout
    assert listed("websub", "list") == []
    (row,) = listed("websub", "list", "--ended")
    assert (row["state"], row["signed"]) == ("enough", False)
    (reported,) = store.write_sync(requests.claim, 10)
    assert (reported["mode"], reported["reason"]) == ("denied", "enough")
    assert "there is no" in run("websub", "remove", "--yes", row["id"], code=4).stderr


def test_a_repository_that_becomes_private_ends_subscriptions(store, run):
    store.write_sync(_followed)
    run("load", "-", stdin='{"repositories": [{"name": "ada/engine", "private": true}]}')
    (row,) = store.read_sync(websub.page, limit=9, ended=True)
    assert row["reason"] == "the topic is no longer public"
