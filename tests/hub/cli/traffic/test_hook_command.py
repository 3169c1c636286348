"""Commands that create, show, edit, ping, pause and remove hooks."""

import json
import re

import pytest

from hub.cli.service import audit_actor
from store import Store
from store.delivery import attempt_feed, delivery_queries, events
from store.hooks import hook_options, hooks
from store.pull import consumers

URL = "https://198.41.0.4/hook"
"""A public address, for which no name has to be looked up."""


def shown(run, hook_id: int):
    return json.loads(run("hook", "show", hook_id, "--json").stdout)


def sent(store: Store, event: str) -> list[dict]:
    """Return the payload of each delivery of an event, newest first."""
    rows = [
        row for row in store.read_sync(delivery_queries.page, limit=50) if row["event"] == event
    ]
    return [json.loads(store.read_sync(events.get, row["event_id"])["body"]) for row in rows]


def test_a_hook_is_made_with_a_secret_and_a_ping(run, listed, store: Store, hook_id):
    made = run("hook", "add", "ada/bell", URL, "--event", "issues", "--event", "push", "--rate", 9)
    secret = made.stdout.strip()
    assert len(secret) == 64
    assert "made hook 2 of ada/bell" in made.stderr
    row = store.read_sync(hooks.by_id, 2)
    assert store.read_sync(hooks.secret_of, row) == secret
    assert (row["events"], row["content_type"], row["options"]) == (
        ["issues", "push"],
        "json",
        {"rate": 9.0},
    )
    (ping,) = sent(store, "ping")
    assert (ping["hook_id"], ping["repository"]["full_name"]) == (2, "ada/bell")
    assert ping["sender"]["login"] == "ada", "receivers expect a sender"
    assert secret not in run("hook", "show", 2).output + run("hook", "list").output
    assert listed("audit", "list")[0]["fields"] == ["--event", "--rate"]


def test_a_secret_is_read_from_standard_input(run, store: Store, hook_id):
    made = run("hook", "add", "ada/bell", URL, "--secret", "-", stdin="from a pipe\n")
    assert made.stdout == ""
    assert store.read_sync(hooks.secret_of, store.read_sync(hooks.by_id, 2)) == "from a pipe"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["http://127.0.0.1/"], "allow_networks"),
        (["no-url"], "not of the form"),
        ([URL, "--event", "nothing"], "nothing"),
        ([URL, "--timeout", "0"], "timeout"),
        ([URL, "--rate", "x"], "rate: use a number, not 'x'"),
        ([URL, "--concurrency", "1.5"], "concurrency: use a whole number, not '1.5'"),
        (["https://198.41.0.4/hook", "--event", "push", "--content-type", "xml"], "xml"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_a_wrong_hook_is_refused(run, listed, hook_id, words, said):
    assert said in run("hook", "add", "ada/bell", *words, code=2).stderr
    assert len(listed("hook", "list")) == 1


def test_a_hook_is_not_made_twice(run, hook_id):
    run("hook", "add", "ada/bell", URL)
    assert "already exists" in run("hook", "add", "ada/bell", URL, code=2).stderr


def test_as_many_hooks_as_the_setting_allows(run, hook_id, monkeypatch):
    monkeypatch.setenv("TOCSIN_HOOKS_PER_EVENT", "1")
    assert "more than 1 hooks" in run("hook", "add", "ada/bell", URL, code=2).stderr


def test_a_hook_is_changed(run, listed, store: Store, hook_id):
    said = run("hook", "edit", hook_id, "--url", URL, "--add-event", "issues", "--rate", 5).stdout
    assert said == "hook 1: push, issues; rate=5.0\n"
    found = shown(run, hook_id)
    assert (found["url"], found["events"]) == (URL, ["push", "issues"])
    run("hook", "edit", hook_id, "--remove-event", "push", "--content-type", "json")
    run("hook", "edit", hook_id, "--insecure-ssl", "--rate", "default")
    found = shown(run, hook_id)
    assert (found["events"], found["content_type"], found["insecure_ssl"], found["options"]) == (
        ["issues"],
        "json",
        True,
        {},
    )
    run("hook", "edit", hook_id, "--event", "*", "--verify-ssl")
    assert (shown(run, hook_id)["events"], shown(run, hook_id)["insecure_ssl"]) == (["*"], False)
    assert "allow_networks" in run("hook", "edit", 1, "--url", "http://10.0.0.1/", code=2).stderr
    assert "at least one event" in run("hook", "edit", 1, "--remove-event", "*", code=2).stderr


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--add-event", "issues", "--remove-event", "issues"], "both added and removed"),
        (["--event", "issues", "--remove-event", "issues"], "both added and removed"),
    ],
)
def test_an_event_that_cannot_be_removed_is_refused(run, hook_id, given, said):
    assert said in run("hook", "edit", hook_id, *given, code=2).stderr
    assert shown(run, hook_id)["events"] == ["push"]


@pytest.mark.parametrize("option", ["--event", "--add-event"])
def test_an_edit_suggests_the_names_of_events(run, hook_id, option):
    assert "did you mean 'star'" in run("hook", "edit", hook_id, option, "stars", code=2).stderr


def test_the_refusal_says_that_a_hook_gets_all_events(run, hook_id):
    said = run("hook", "edit", hook_id, "--event", "*", "--remove-event", "push", code=2).stderr
    assert "hook 1 gets 'push' with '*', and not by its name" in said
    run("hook", "edit", hook_id, "--event", "*")
    said = run("hook", "edit", hook_id, "--remove-event", "push", code=2).stderr
    assert "hook 1 gets 'push' with '*', and not by its name" in said


def test_an_event_that_a_hook_lacks_can_be_removed_again(run, hook_id):
    run("hook", "edit", hook_id, "--add-event", "issues", "--remove-event", "star")
    assert shown(run, hook_id)["events"] == ["push", "issues"]


NAMED_OTHERWISE = {"headers": "header", "tls": "client-cert", "oauth2": "oauth2-token-url"}


def test_every_delivery_option_can_be_given(run, hook_id):
    help_ = run("hook", "edit", "--help").stdout
    for name in hook_options.DeliveryOptions.model_fields:
        assert f"--{NAMED_OTHERWISE.get(name, name.replace('_', '-'))} " in help_


def test_a_hook_is_pinged(run, store: Store, hook_id):
    run("hook", "ping", hook_id)
    (ping,) = sent(store, "ping")
    assert ping["hook"]["id"] == hook_id
    run("hook", "disable", hook_id)
    assert "`tocsin hook enable 1` first" in run("hook", "ping", hook_id, code=5).stderr


def test_a_hook_that_is_off_has_the_name_of_the_person(run, hook_id):
    found = shown(run, hook_id)
    assert (found["off_since"], found["off_by"]) == (None, None)
    run("hook", "disable", hook_id)
    run("hook", "edit", hook_id, "--timeout", 3)
    found = shown(run, hook_id)
    assert found["off_since"] is not None
    assert found["off_by"] == audit_actor.actor().name
    run("hook", "enable", hook_id)
    assert shown(run, hook_id)["off_by"] is None


def test_a_hook_is_paused_and_resumed(run, listed, hook_id):
    assert "`tocsin hook resume 1`" in run("hook", "pause", hook_id).stdout
    assert listed("hook", "list")[0]["state"] == "paused"
    found = shown(run, hook_id)
    assert (found["state"], found["waiting"], found["next_at"]) == ("paused", 2, None)
    assert found["paused_at"] is not None
    status = listed("status")
    assert (status["hooks_paused"], status["hooks_with_backlog"]) == (1, 0)
    assert "2 deliveries wait" in run("hook", "resume", hook_id).stdout
    assert listed("hook", "list")[0]["state"] == "active"
    assert listed("status")["hooks_with_backlog"] == 1
    assert [row["what"] for row in listed("audit", "list")] == [
        "tocsin hook resume",
        "tocsin hook pause",
    ]


def test_a_resume_says_whether_there_was_a_pause(run, hook_id):
    assert run("hook", "resume", hook_id).stdout.startswith("hook 1 was not paused; ")
    run("hook", "pause", hook_id)
    assert run("hook", "resume", hook_id).stdout.startswith("hook 1 is resumed; ")
    run("hook", "disable", hook_id)
    assert "`tocsin hook enable 1` makes it active" in run("hook", "resume", hook_id).stderr
    assert "there is no hook 99" in run("hook", "resume", 99, code=4).stderr


def test_a_silence_says_when_it_ends(run, hook_id):
    assert run("hook", "silence", hook_id, "--end").stdout == "hook 1 was not silenced\n"
    said = run("hook", "silence", hook_id, "--for", "2h").stdout
    assert re.match(r"hook 1 is silenced until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC; ", said)
    assert run("hook", "silence", hook_id, "--end").stdout == "hook 1 is not silenced any more\n"


def test_a_hook_is_silenced_for_a_time(run, listed, hook_id):
    assert "`tocsin hook silence 1 --end`" in run("hook", "silence", hook_id, "--for", "2h").stdout
    assert shown(run, hook_id)["silenced_until"] is not None
    assert "is not silenced" in run("hook", "silence", hook_id, "--end").stdout
    assert shown(run, hook_id)["silenced_until"] is None
    run("hook", "silence", hook_id, "--for", "soon", code=2)
    assert (
        "is longer than 5200w" in run("hook", "silence", hook_id, "--for", "5201w", code=2).stderr
    )
    run("hook", "silence", 99, code=4)
    assert [row["what"] for row in listed("audit", "list")] == ["tocsin hook silence"] * 2


def test_a_removed_hook_receives_a_last_event(run, listed, store: Store, hook_id):
    run("hook", "edit", hook_id, "--add-event", "meta")
    run("hook", "remove", hook_id, "--yes")
    assert listed("hook", "list") == []
    (last,) = sent(store, "meta")
    assert (last["action"], last["hook_id"]) == ("deleted", hook_id)
    run("hook", "show", hook_id, code=4)
    run("hook", "remove", hook_id, "--yes", code=4)
    assert store.read_sync(attempt_feed.latest) == 0


class TestHooksAroundRepositories:
    def test_a_hook_of_an_organization_is_made(self, run, listed, store: Store, hook_id):
        run("org", "add", "tower")
        made = run("hook", "add", "--org", "tower", URL, "--event", "team", "--event", "push")
        assert "made hook 2 of tower" in made.stderr
        (ping,) = sent(store, "ping")
        assert ping["organization"]["login"] == ping["sender"]["login"] == "tower"
        assert ping["hook"]["type"] == "Organization"
        assert [row["id"] for row in listed("hook", "list", "--org", "TOWER")] == [2]
        assert [row["id"] for row in listed("hook", "list", "--repo", "ada/bell")] == [1]
        row = shown(run, 2)
        assert (row["kind"], row["target"], row["repository"]) == ("organization", "tower", None)
        run("hook", "ping", 2)
        run("hook", "edit", 2, "--add-event", "meta")
        run("hook", "remove", 2, "--yes")
        assert [row["id"] for row in listed("hook", "list")] == [1]
        assert sent(store, "meta")[0]["organization"]["login"] == "tower"

    def test_a_hook_of_the_whole_installation_is_made(self, run, listed, store: Store, hook_id):
        made = run("hook", "add", "--system", URL, "--event", "installation")
        assert "made hook 2 of the whole installation" in made.stderr
        (ping,) = sent(store, "ping")
        assert (ping["hook"]["type"], ping["sender"]) == ("System", None)
        assert [row["id"] for row in listed("hook", "list", "--system")] == [2]
        assert shown(run, 2)["target"] == "whole installation"
        run("hook", "remove", 2, "--yes")

    @pytest.mark.parametrize(
        ("words", "code", "said"),
        [
            ((URL,), 2, "name a repository"),
            (("--org", "tower", "ada/bell", URL), 2, "name a repository"),
            (("--org", "tower", "--system", URL), 2, "one of a repository, --org and --system"),
            (("--org", "ada", URL), 4, "there is no organization 'ada'"),
            (("ada/bell", URL, "--event", "team"), 2, "no hook of this repository can get it"),
        ],
    )
    def test_a_wrong_target_is_refused(self, run, hook_id, words, code, said):
        assert said in run("hook", "add", *words, code=code).stderr


def test_a_hook_has_another_format(run, store: Store, hook_id):
    run("hook", "edit", hook_id, "--format", "cloudevents_binary", "--type-prefix", "com.github")
    assert store.read_sync(hooks.by_id, hook_id)["options"] == {
        "format": "cloudevents_binary",
        "type_prefix": "com.github",
    }
    assert "format" in run("hook", "edit", hook_id, "--format", "yaml", code=2).stderr
    assert "type_prefix" in run("hook", "edit", hook_id, "--type-prefix", "A b", code=2).stderr


def test_a_hook_gets_batches(run, store: Store, hook_id):
    defaults = {"max_events": 100, "max_bytes": 1_000_000, "max_wait": 1.0}
    run("hook", "edit", hook_id, "--batch", "on")
    assert store.read_sync(hooks.by_id, hook_id)["options"] == {"batch": defaults}
    run("hook", "edit", hook_id, "--batch", "max_events=50,max_wait=0.5")
    changed = defaults | {"max_events": 50, "max_wait": 0.5}
    assert store.read_sync(hooks.by_id, hook_id)["options"] == {"batch": changed}
    for wrong in ("max_events=500", "max_events=many", "most=3", "off"):
        assert "batch" in run("hook", "edit", hook_id, "--batch", wrong, code=2).stderr
    assert "batch" in run("hook", "edit", hook_id, "--format", "slack", code=2).stderr
    run("hook", "edit", hook_id, "--batch", "default")
    assert store.read_sync(hooks.by_id, hook_id)["options"] == {}


def test_a_receiver_may_not_see_traces(run, store: Store, hook_id):
    run("hook", "edit", hook_id, "--propagate", "never")
    assert store.read_sync(hooks.by_id, hook_id)["options"] == {"propagate": "never"}
    run("hook", "edit", hook_id, "--propagate", "default")
    assert store.read_sync(hooks.by_id, hook_id)["options"] == {}
    said = run("hook", "edit", hook_id, "--propagate", "sometimes", code=2).stderr
    assert "propagate" in said
    assert "'always' or 'never'" in said


def test_a_pull_hook_shows_its_consumers(run, listed, store: Store, hook_id):
    run("hook", "add", "ada/bell", "pull:ci", "--expire-idle", "3600")
    assert [row["url"] for row in listed("hook", "list") if row["id"] == 2] == ["pull:ci"]
    store.write_sync(consumers.touch, 2, "laptop")
    found = shown(run, 2)
    assert found["options"] == {"expire_idle": 3600.0}
    assert [(one["name"], one["attached"], one["leases"]) for one in found["consumers"]] == [
        ("laptop", True, 0)
    ]
    assert "laptop" in run("hook", "show", 2).stdout
    assert "pull: and a name" in run("hook", "add", "ada/bell", "pull:A B", code=2).stderr
    assert "organization" in run("hook", "add", "--system", "pull:all", code=2).stderr
