"""Commands and state documents for the hook of an app."""

import json
from typing import Any

import pytest
from assertions import bodies, waiting

from store import Store
from store.accounts import apps
from store.apps import app_hooks
from store.delivery import hook_removal
from store.hooks import hooks

pytestmark = pytest.mark.usefixtures("url")

URL = "https://93.184.216.34/hook"
DOCUMENT = """
users: [{login: ada}]
repositories: [{name: ada/engine}]
apps:
  - name: Mill
    owner: ada
    url: https://mill.example/
    kind: integration
    permissions: {issues: read}
    events: [issues]
    hook: {url: "https://mill.example/hook", secret: one, delivery: {timeout: 5}}
installations:
  - {app: Mill, account: ada, repositories: [engine]}
"""


@pytest.fixture
def mill(url: str, run: Any) -> None:
    run("user", "add", "ada")
    given = ("--owner", "ada", "--url", "https://mill.example/", "--kind", "integration")
    run("app", "add", "Mill", *given, "--permission", "issues=read", "--event", "issues")


@pytest.mark.usefixtures("mill")
def test_a_hook_is_made_listed_and_changed(run: Any, listed: Any, store: Store) -> None:
    secret = run("app", "hook", "Mill", URL).stdout.strip()
    (row,) = listed("hook", "list")
    assert (row["kind"], row["target"], row["events"]) == ("app", "mill", ["issues"])
    hook = store.read_sync(hooks.by_id, row["id"])
    assert store.read_sync(hooks.secret_of, hook) == secret
    (ping,) = bodies(store, "ping")
    assert ping["sender"]["login"] == "ada"
    assert "already" in run("app", "hook", "Mill", URL, code=5).stderr
    run("hook", "edit", str(row["id"]), "--rate", "10")
    assert "change the app" in run("hook", "edit", str(row["id"]), "--event", "push", code=2).stderr
    run("app", "edit", "Mill", "--event", "push")
    assert listed("hook", "list")[0]["events"] == ["push"]
    run("hook", "remove", str(row["id"]), "--yes")
    run("app", "hook", "Mill", URL, "--secret", "mine")


@pytest.mark.usefixtures("mill")
def test_a_filter_is_tested_on_the_payload_that_is_sent(run: Any, listed: Any) -> None:
    run("repo", "add", "ada/engine")
    run("app", "install", "Mill", "ada")
    run("app", "hook", "Mill", URL)
    hook = str(listed("hook", "list")[0]["id"])
    filter_ = json.dumps({"payload": {"installation": {"id": {"$eq": 1}}}})
    run("hook", "edit", hook, "--filter", filter_)
    run("emit", "issues", "ada/engine", "--file", "-", stdin='{"action": "opened"}')
    event = str(listed("event", "list")[0]["id"])
    (made,) = listed("event", "show", event)["deliveries"]
    assert made["state"] == "waiting"
    assert listed("hook", "test-filter", hook, "--event", event)["matches"]
    pasted = run("hook", "test-filter", hook, "--file", "-", stdin='{"action": "opened"}')
    assert "leaves out" in pasted.stdout


@pytest.mark.usefixtures("mill")
def test_only_integrations_have_a_hook(run: Any) -> None:
    run("app", "add", "Lab", "--owner", "ada", "--url", "https://lab.example/")
    run("app", "hook", "Lab", URL, code=2)


@pytest.mark.usefixtures("mill")
def test_commands_on_installations_emit_events(run: Any, store: Store) -> None:
    run("app", "hook", "Mill", URL, "--secret", "mine")
    run("repo", "add", "ada/engine")
    run("org", "add", "tower")
    run("app", "install", "Mill", "ada")
    run("app", "install", "Mill", "ada", "--repo", "engine")
    run("app", "suspend", "Mill", "ada")
    run("app", "resume", "Mill", "ada")
    run("app", "uninstall", "Mill", "ada", "--yes")
    run("app", "install", "Mill", "tower")
    run("org", "remove", "tower", "--yes")
    actions = [event["action"] for event in bodies(store, "installation")]
    assert actions == ["created", "suspend", "unsuspend", "deleted", "created", "deleted"]
    app = store.read_sync(apps.by_slug, "mill")
    hook = store.read_sync(app_hooks.of, app["id"])
    assert len(waiting(store, hook["id"])) == 1 + len(actions)


@pytest.mark.usefixtures("mill")
def test_an_app_hears_that_a_repository_it_was_given_is_removed(run: Any, store: Store) -> None:
    for name in ("engine", "loom"):
        run("repo", "add", f"ada/{name}")
    run("app", "install", "Mill", "ada", "--repo", "engine")
    run("repo", "remove", "ada/loom", "--yes")
    assert bodies(store, "installation_repositories") == []
    run("repo", "remove", "ada/engine", "--yes")
    (event,) = bodies(store, "installation_repositories")
    (lost,) = event["repositories_removed"]
    assert (event["action"], lost["full_name"]) == ("removed", "ada/engine")


@pytest.mark.usefixtures("mill")
def test_an_app_hears_once_of_a_repository_that_goes_in_parts(
    run: Any, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook_removal, "MOST", 1)
    run("repo", "add", "ada/engine")
    run("hook", "add", "ada/engine", "https://receiver.example/")
    run("app", "install", "Mill", "ada", "--repo", "engine")
    for _ in range(2):
        run("emit", "push", "ada/engine", "--example")
    run("repo", "remove", "ada/engine", "--yes")
    assert len(bodies(store, "installation_repositories")) == 1


def test_a_document_has_the_hook(run: Any, store: Store) -> None:
    def loaded(text: str) -> dict[str, str]:
        made = json.loads(run("load", "-", "--json", stdin=text).stdout)
        return {row["name"]: row["outcome"] for row in made["changes"]}

    loaded(DOCUMENT)
    app = store.read_sync(apps.by_slug, "mill")
    hook = store.read_sync(app_hooks.of, app["id"])
    assert (hook["url"], hook["options"]) == ("https://mill.example/hook", {"timeout": 5.0})
    assert [event["action"] for event in bodies(store, "installation")] == ["created"]
    assert set(loaded(DOCUMENT).values()) == {"unchanged"}
    changed = DOCUMENT.replace("secret: one", "secret: two").replace(
        "events: [issues]", "events: [push]"
    )
    assert loaded(changed)["Mill"] == "updated"
    after = store.read_sync(app_hooks.of, app["id"])
    assert store.read_sync(hooks.secret_of, after) == "two"
    assert after["events"] == ["push"]
    refused = DOCUMENT.replace("https://mill.example/hook", "https://10.0.0.1/hook")
    assert "apps[0].hook.url" in run("load", "-", stdin=refused, code=2).stderr
