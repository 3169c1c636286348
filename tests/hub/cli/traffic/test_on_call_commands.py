"""Commands for somebody on call: find an event, choose a host, and retry at once."""

import hashlib
import hmac
import json

import pytest

from store import Connection, Store
from store.delivery import events, rejections
from store.delivery.incoming import IncomingEvent
from store.hooks import hooks

pytestmark = pytest.mark.usefixtures("url")
HEADER = "X-Hub-Signature-256"
FAR = 4_000_000_000_000_000


def test_an_event_is_found_by_its_delivery_id_and_by_a_delivery(run, listed, hook_id):
    (by_guid,) = listed("event", "find", "guid-0")
    assert (by_guid["result"], by_guid["id"], by_guid["repository"]) == ("accepted", 1, "ada/bell")
    number = next(row["id"] for row in listed("delivery", "list") if row["guid"] == "guid-0")
    assert listed("event", "find", number) == [by_guid]
    assert "guid-0" in run("event", "show", by_guid["id"]).stdout


def test_a_rejected_event_is_found_with_its_reason(run, listed, store: Store, hook_id):
    given = {"path": "/events", "sender": "source forge", "reason": "the signature is wrong"}
    store.write_sync(rejections.add, guid="lost", event="push", **given)
    store.write_sync(rejections.add, guid="other", event="push", **given)
    (found,) = listed("event", "find", "lost")
    assert found["result"] == "rejected"
    assert (found["sender"], found["reason"]) == ("source forge", "the signature is wrong")


def test_an_event_that_never_came_in_is_no_success(run, hook_id):
    said = run("event", "find", "never", code=4).stderr
    assert "no event came in with the id never, and none was rejected" in said
    assert "the oldest event that is stored is of 20" in said


def test_pending_deliveries_of_a_hook_are_tried_now(run, listed, store: Store, hook_id):
    store.write_sync(lambda db: db.execute("UPDATE delivery SET due_at = :far", far=FAR))
    assert run("hook", "retry", hook_id).stdout == f"hook {hook_id}: 2 deliveries are tried now\n"
    assert all(row["next_at"] < "2090" for row in listed("delivery", "list", "--hook", hook_id))
    run("hook", "pause", hook_id)
    assert "the hook is paused" in run("hook", "retry", hook_id, code=5).stderr
    assert "there is no hook 99" in run("hook", "retry", 99, code=4).stderr
    entries = [row["what"] for row in listed("audit", "list")]
    assert entries == ["tocsin hook pause", "tocsin hook retry"]


def test_deliveries_of_a_host_and_a_period_are_listed(run, listed, store: Store, hook_id):
    (hook,) = json.loads(run("hook", "list", "--json").stdout)
    host = hook["url"].split("/")[2]
    store.write_sync(hooks.create, 1, url="https://other.example/hook", events=["push"])
    assert len(listed("delivery", "list", "--host", host)) == 2
    assert listed("delivery", "list", "--host", "other.example") == []
    assert len(listed("delivery", "list", "--since", "1h", "--until", "0s")) == 2
    assert listed("delivery", "list", "--until", "1h") == []
    assert (
        "no hook at none.example"
        in run("delivery", "list", "--host", "none.example", code=4).stderr
    )
    run("delivery", "list", "--host", host, "--hook", hook_id, code=2)


def test_a_host_is_replayed_alone(run, store: Store, hook_id):
    store.write_sync(hooks.create, 1, url="https://other.example/hook", events=["push"])
    said = run("replay", "--since", "1h", "--host", "other.example", "--dry-run").stdout
    assert said.startswith("2 deliveries")
    run("replay", "--since", "1h", "--host", "other.example", "--failed")
    made = json.loads(run("delivery", "list", "--host", "other.example", "--json").stdout)
    assert len(made) == 2
    run("replay", "--since", "1h", "--host", "other.example", "--hook", hook_id, code=2)


def signed(db: Connection, hook_id: int) -> None:
    """Record an attempt for the first event that was signed with the hook's secret."""
    made = hmac.new(b"hush", b'{"number": 0}', hashlib.sha256).hexdigest()
    head = f"POST /hook HTTP/1.1\r\nContent-Type: application/json\r\n{HEADER}: sha256={made}"
    db.execute(
        "INSERT INTO attempt (delivery_id, hook_id, event_id, repo_id, number, redelivery,"
        " started_at, duration, status_code, url, timings, request_head)"
        " VALUES (1, :hook_id, 1, 1, 1, 0, :now, 5, 200, 'https://receiver.example/hook', '{}',"
        " :head)",
        hook_id=hook_id,
        head=head,
    )


def test_a_delivery_says_which_secret_made_its_signature(run, store: Store, hook_id):
    store.write_sync(signed, hook_id)
    assert f"{HEADER}: made with the present secret" in run("delivery", "show", 1).stdout
    store.write_sync(lambda db: hooks.update(db, hooks.by_id(db, hook_id), secret="another"))
    (attempt,) = json.loads(run("delivery", "show", 1, "--json").stdout)["attempts"]
    assert attempt["signatures"] == {HEADER: "made with an earlier secret"}


def test_the_events_of_a_token_are_listed(run, listed, store: Store, hook_id):
    posted = [
        IncomingEvent(1, f"by-{number}", 1, "push", b"{}", token_id=number) for number in (7, 8)
    ]
    store.write_sync(events.accept_all, posted)
    assert [row["guid"] for row in listed("event", "list", "--token", 7)] == ["by-7"]
    assert listed("event", "list", "--token", 9) == []
    event_id = listed("event", "list", "--token", 7)[0]["id"]
    shown = json.loads(run("event", "show", event_id, "--json").stdout)
    assert shown["from"] == "posted with the token 7, which was deleted since"
