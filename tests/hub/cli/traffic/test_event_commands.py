"""Commands that show an event with its deliveries, and that emit events."""

import json

import pytest

from hub.api.issues.issue_part_serializers import IssueComment, Label
from hub.api.issues.issue_serializers import Issue
from hub.api.pulls.pull_serializers import PullRequest
from hub.cli.console import output
from store import Store
from store.delivery import events
from store.delivery.incoming import IncomingEvent
from store.projection import projection_cursor


def shown(run, event_id: int):
    return json.loads(run("event", "show", event_id, "--json").stdout)


def body_of(store: Store, event_id: int) -> bytes:
    return store.read_sync(events.get, event_id)["body"]


def test_an_event_has_head_payload_and_deliveries(run, hook_id, monkeypatch):
    found = shown(run, 1)
    assert (found["event"], found["repository"], found["from"]) == (
        "push",
        "ada/bell",
        "posted by a command",
    )
    assert found["payload"] == {"number": 0}
    (made,) = found["deliveries"]
    assert (made["hook"], made["state"]) == (hook_id, "waiting")
    monkeypatch.setattr(output, "is_terminal", lambda: True)
    text = run("event", "show", 1).stdout
    assert text.index("guid-0") < text.index('"number": 0') < text.index("waiting")
    assert "none: no hook of ada/bell wanted fork" in run("event", "show", 3).stderr


def test_a_payload_that_is_nested_deeply_is_shown(run, store: Store, hook_id):
    body = '{"a":' + "[" * 300 + "1" + "]" * 300 + "}"
    run("emit", "push", "ada/bell", "--file", "-", stdin=body.encode())
    assert '"a": [\n' in run("event", "show", 4).stdout
    assert json.dumps(shown(run, 4)["payload"], separators=(",", ":")) == body
    delivery = shown(run, 4)["deliveries"][0]["id"]
    assert '"a": [\n' in run("delivery", "show", delivery).stdout


@pytest.mark.parametrize("body", [b"<feed>hello</feed>", b"", b"\xff"])
def test_a_payload_that_is_no_json_is_shown_as_a_text(run, store: Store, hook_id, body):
    (made,) = store.write_sync(events.accept_all, [IncomingEvent(1, "foreign", 1, "push", body)])
    assert shown(run, made.event_id)["payload"] == body.decode("utf-8", "replace")


def test_a_payload_is_bounded_and_whole_on_demand(run, store: Store, hook_id):
    body = json.dumps({"text": "x" * 5000}).encode()
    run("emit", "push", "ada/bell", "--file", "-", stdin=body)
    assert "... and more" in run("event", "show", 4).stdout
    assert run("event", "show", 4, "--payload").stdout == body.decode()
    assert shown(run, 4)["payload"] == {"text": "x" * 5000}


def test_a_deleted_payload_is_reported(run, store: Store, hook_id):
    store.write_sync(lambda db: db.execute("UPDATE event SET body = NULL WHERE id = 1"))
    assert "no longer kept" in run("event", "show", 1).stdout
    assert "no longer kept" in run("event", "show", 1, "--payload", code=1).stderr
    assert shown(run, 1)["payload"] is None


def test_an_example_is_posted(run, listed, store: Store, hook_id):
    said = run("emit", "push", "ada/bell", "--example")
    assert said.stdout == "event 4: 1 hook gets it\n"
    assert "`tocsin event show 4`" in said.stderr
    payload = json.loads(body_of(store, 4))
    assert payload["ref"] == "refs/heads/main"
    assert payload["repository"]["full_name"] == "ada/bell"
    assert payload["sender"]["login"] == "ada"
    assert listed("delivery", "list")[0]["event"] == "push"
    (entry,) = listed("audit", "list")
    assert (entry["what"], entry["on"], entry["fields"]) == (
        "tocsin emit",
        "push ada/bell",
        ["--example"],
    )


def test_the_example_of_a_push_is_complete(run, store: Store, hook_id):
    run("emit", "push", "ada/bell", "--example")
    payload = json.loads(body_of(store, 4))
    assert {"base_ref", "compare", "pusher", "forced"} <= payload.keys()
    assert payload["commits"] == [payload["head_commit"]]
    required = {"id", "tree_id", "distinct", "url", "author", "committer", "removed"}
    assert required <= payload["head_commit"].keys()


def test_the_example_of_a_push_has_the_repository_as_pushes_have_it(run, store: Store, hook_id):
    """Its URL is a page, and its times are numbers. Receivers in Go refuse texts."""
    run("emit", "push", "ada/bell", "--example")
    repository = json.loads(body_of(store, 4))["repository"]
    assert repository["url"] == repository["html_url"]
    assert repository["created_at"] == repository["pushed_at"] < 2**33
    assert repository["master_branch"] == repository["default_branch"]
    assert repository["owner"]["name"] == repository["owner"]["login"] == "ada"


def test_the_examples_of_issues_and_releases_are_complete(run, store: Store, hook_id):
    for event in ("issues", "release"):
        run("emit", event, "ada/bell", "--example")
    issue = json.loads(body_of(store, 4))["issue"]
    assert issue.keys() >= Issue.__required_keys__ | {"body"}
    assert issue["url"].endswith("/repos/ada/bell/issues/7")
    assert [one.keys() for one in issue["labels"]] == [Label.__required_keys__]
    release = json.loads(body_of(store, 5))["release"]
    assert release["html_url"].endswith("/ada/bell/releases/tag/v1.2.0")
    assert release["author"] == issue["user"]
    links = {"url", "assets_url", "html_url", "tarball_url", "upload_url", "zipball_url"}
    times = {"created_at", "published_at", "updated_at"}
    assert links | times | {"assets", "immutable", "node_id"} <= release.keys()


def test_the_examples_of_pull_requests_and_comments_are_complete(run, store: Store, hook_id):
    """A receiver of pull requests reads the branches and their repositories."""
    for event in ("pull_request", "issue_comment"):
        run("emit", event, "ada/bell", "--example")
    payload = json.loads(body_of(store, 4))
    pull, repository = payload["pull_request"], payload["repository"]
    assert pull.keys() >= PullRequest.__required_keys__ | {"body"}
    assert (payload["action"], payload["number"]) == ("opened", pull["number"])
    assert pull["head"]["repo"] == pull["base"]["repo"] == repository
    assert (pull["head"]["ref"], pull["base"]["ref"]) == ("quarter-bells", "main")
    assert pull["head"]["sha"] != pull["base"]["sha"]
    assert pull["url"].endswith("/repos/ada/bell/pulls/8")
    payload = json.loads(body_of(store, 5))
    assert payload["comment"].keys() >= IssueComment.__required_keys__ | {"body"}
    assert payload["comment"]["issue_url"] == payload["issue"]["url"]
    assert payload["comment"]["user"]["login"] == payload["sender"]["login"] == "ada"


@pytest.mark.parametrize(
    ("event", "members"),
    [
        ("create", {"ref", "ref_type", "master_branch", "description", "pusher_type"}),
        ("delete", {"ref", "ref_type", "pusher_type"}),
        ("label", {"action", "label"}),
    ],
)
def test_the_small_examples_are_complete(run, store: Store, hook_id, event, members):
    run("emit", event, "ada/bell", "--example")
    assert set(json.loads(body_of(store, 4))) == members | {"repository", "sender"}


def test_an_example_has_the_organization_and_the_configured_words(
    run, store: Store, hook_id, monkeypatch
):
    run("org", "add", "tower")
    run("repo", "add", "tower/organ")
    monkeypatch.setenv("TOCSIN_VOCABULARY", '{"service": "github"}')
    run("emit", "issues", "tower/organ", "--example")
    payload = json.loads(body_of(store, 4))
    assert payload["organization"]["login"] == "tower"
    assert payload["issue"]["performed_via_github_app"] is None


def test_an_example_changes_no_state(run, store: Store, hook_id):
    """Its number may be the number of a real issue, whose title it would replace."""
    run("emit", "issues", "ada/bell", "--example")
    run("emit", "push", "ada/bell", "--file", "-", stdin="{}")
    found = store.read_sync(projection_cursor.pending, None).events
    assert [row["id"] for row in found] == [1, 2, 3, 5]
    assert shown(run, 4)["from"] == "an example"


def test_an_example_of_any_event_has_repository_and_sender(run, store: Store, hook_id):
    assert "0 hooks get it" in run("emit", "star", "ada/bell", "--example").stdout
    assert set(json.loads(body_of(store, 4))) == {"repository", "sender"}


def test_a_file_is_posted_byte_for_byte(run, store: Store, hook_id, tmp_path):
    path = tmp_path / "payload.json"
    path.write_bytes(b'{ "action": "opened",\n "number": 1.0 }')
    found = json.loads(run("emit", "issues", "ada/bell", "--file", path, "--json").stdout)
    assert found == {"id": found["id"], "event_id": 4, "deliveries": 0}
    assert body_of(store, 4) == path.read_bytes()
    assert shown(run, 4)["action"] == "opened"


def test_the_same_event_is_stored_once(run, listed, hook_id):
    first = run("emit", "push", "ada/bell", "--file", "-", "--id", "mine", stdin="{}").stdout
    assert first == "event 4: 1 hook gets it\n"
    again = run("emit", "push", "ada/bell", "--file", "-", "--id", "mine", stdin="{}").stdout
    assert again == "event 4 was posted before: 1 hook gets it\n"
    other = run("emit", "push", "ada/bell", "--file", "-", "--id", "mine", stdin="[]", code=2)
    assert "object" in other.stderr
    run("emit", "push", "ada/bell", "--file", "-", "--id", "mine", stdin='{"a": 1}', code=5)
    assert len(listed("event", "list", "--event", "push")) == 3


@pytest.mark.parametrize(
    ("words", "stdin", "said"),
    [
        (["nothing", "--example"], None, 'Invalid event: "nothing": `tocsin help events` lists'),
        (["pusch", "--example"], None, "did you mean 'push'?"),
        (["push"], None, "--file, or --example"),
        (["push", "--example", "--file", "-"], "{}", "--file, or --example"),
        (["push", "--file", "-"], "{", "JSON"),
        (["push", "--file", "-"], "[]", "object"),
        (["push", "--example", "--id", "a b"], None, "visible ASCII"),
        (["push", "--file", "-"], '{"a": "' + "x" * 2000 + '"}', "max_event_bytes, 1024 bytes"),
    ],
)
def test_a_wrong_event_is_rejected(run, listed, hook_id, monkeypatch, words, stdin, said):
    monkeypatch.setenv("TOCSIN_MAX_EVENT_BYTES", "1024")
    event, *rest = words
    assert said in run("emit", event, "ada/bell", *rest, stdin=stdin, code=2).stderr
    assert len(listed("event", "list")) == 3
