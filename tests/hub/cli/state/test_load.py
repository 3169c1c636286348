"""State documents: applied, applied again, changed, and refused as a whole."""

import builtins
import json
import sys
from pathlib import Path

import pytest

from store import Store
from store.accounts import accounts, sso, tokens
from store.delivery import sources
from store.errors import Contended
from store.hooks import hook_queries, hooks
from store.repositories import repositories

pytestmark = pytest.mark.usefixtures("url")

# From 3.14 on, Python reads JSON as deep as its stack allows, and then misses the end.
DEEP_JSON = "nested too deeply" if sys.version_info < (3, 14) else "cannot be read"

DOCUMENT = """
users:
  - {login: ada, name: Ada, email: ada@tower.example, site_admin: true, password: sesame}
  - login: bob
organizations:
  - login: tower
    name: The tower
    members: {ada: admin, bob: member}
repositories:
  - name: tower/bells
    private: true
    description: eight of them
    collaborators: {bob: write}
tokens:
  - {user: ada, note: ci, scopes: [repo, public_repo], expires_at: 2100-01-01}
  - {user: bob, value: VALUE}
sources:
  - {name: forge, secret: hush, owner: tower}
hooks:
  - repository: tower/bells
    url: https://receiver.example/hook
    events: [push, issues]
    content_type: json
    secret: quiet
    delivery: {timeout: 3, retries: [0, 5]}
""".replace("VALUE", tokens.new_value("personal"))


def outcomes(result) -> dict[str, str]:
    return {each["name"]: each["outcome"] for each in json.loads(result.stdout)["changes"]}


def test_a_whole_document_is_loaded(load, store: Store):
    result = load(DOCUMENT)
    assert "8 created, 0 updated, 0 unchanged" in result.stdout
    ada = store.read_sync(accounts.by_login, "ada")
    assert (ada["name"], ada["site_admin"]) == ("Ada", 1)
    assert store.read_sync(accounts.check_password, ada["id"], "sesame")
    tower, bob = (
        store.read_sync(accounts.by_login, "tower"),
        store.read_sync(accounts.by_login, "bob"),
    )
    assert store.read_sync(accounts.organization_role, tower["id"], ada["id"]) == "admin"
    repo = store.read_sync(repositories.find, "tower", "bells")
    assert (repo["private"], repo["description"]) == (1, "eight of them")
    assert store.read_sync(repositories.role_of, repo, bob) == "write"
    assert store.read_sync(sources.by_name, "forge")["owner_id"] == tower["id"]
    hook = store.read_sync(hooks.by_url, repo["id"], "https://receiver.example/hook")
    assert (hook["events"], hook["content_type"]) == (["push", "issues"], "json")
    assert hook["options"] == {"timeout": 3, "retries": [0, 5]}
    assert store.read_sync(hooks.secret_of, hook) == "quiet"


def test_a_made_up_token_is_shown_once(load, store: Store):
    value = json.loads(load(DOCUMENT, "--json").stdout)["tokens"]["ada ci"]
    assert store.read_sync(tokens.find, value)["scopes"] == {"repo"}
    again = load(DOCUMENT, "--json").stdout
    assert json.loads(again)["tokens"] == {}
    assert value not in again


def test_secrets_are_not_shown(load):
    shown = load(DOCUMENT).output + load(DOCUMENT, "--json").output
    for secret in ("sesame", "hush", "quiet"):
        assert secret not in shown


def test_again_changes_nothing(load, store: Store):
    load(DOCUMENT)
    before = store.read_sync(
        lambda db: (accounts.list_all(db), repositories.list_all(db), hook_queries.every(db))
    )
    assert set(outcomes(load(DOCUMENT, "--json")).values()) == {"unchanged"}
    after = store.read_sync(
        lambda db: (accounts.list_all(db), repositories.list_all(db), hook_queries.every(db))
    )
    assert after == before


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("name: Ada", "name: Ada L.", "ada"),
        ("site_admin: true", "site_admin: false", "ada"),
        ("bob: member", "bob: admin", "tower"),
        ("name: The tower", "name: The towers", "tower"),
        ("private: true", "private: false", "tower/bells"),
        ("bob: write", "bob: admin", "tower/bells"),
        ("secret: hush", "secret: hushed", "forge"),
        ("[push, issues]", "[push]", "tower/bells https://receiver.example/hook"),
        ("secret: quiet", "secret: loud", "tower/bells https://receiver.example/hook"),
        ("timeout: 3", "timeout: 4", "tower/bells https://receiver.example/hook"),
    ],
)
def test_a_change_updates_only_its_object(load, run, old, new, name):
    load(DOCUMENT)
    run("user", "add", "eve", "--site-admin")
    found = outcomes(load(DOCUMENT.replace(old, new), "--json"))
    assert [each for each, outcome in found.items() if outcome == "updated"] == [name]
    assert "created" not in found.values()
    assert set(outcomes(load(DOCUMENT.replace(old, new), "--json")).values()) == {"unchanged"}


def test_the_administrator_of_the_site_changes_in_one_document(load, store: Store):
    load(DOCUMENT)
    ada = "users: [{login: ada, site_admin: false}]"
    assert "users[0]: ada is the last site administrator" in load(ada, code=2).output
    load("users: [{login: ada, site_admin: false}, {login: bob, site_admin: true}]")
    rows = [store.read_sync(accounts.by_login, login) for login in ("ada", "bob")]
    assert [row["site_admin"] for row in rows] == [0, 1]


def test_unmentioned_fields_are_kept(load, store: Store):
    load(DOCUMENT)
    load("users: [{login: ada}]\nhooks: [{repository: tower/bells, url: URL}]".replace(
        "URL", "'https://receiver.example/hook'"))  # fmt: skip
    assert store.read_sync(accounts.by_login, "ada")["name"] == "Ada"
    repo = store.read_sync(repositories.find, "tower", "bells")
    hook = store.read_sync(hooks.by_url, repo["id"], "https://receiver.example/hook")
    assert (hook["events"], hook["content_type"]) == (["push", "issues"], "json")
    assert store.read_sync(hooks.secret_of, hook) == "quiet"


def test_a_token_made_otherwise_is_not_changed(load):
    load(DOCUMENT)
    refused = load(DOCUMENT.replace("[repo, public_repo]", "[gist]"), code=2)
    assert "tokens[0]: this token exists with other values" in refused.stderr


def test_a_json_document_is_loaded(load):
    assert outcomes(load('{"users": [{"login": "ada"}]}', "--json")) == {"ada": "created"}


def test_a_document_is_loaded_from_a_file(run, directory):
    (directory / "state.yaml").write_text(DOCUMENT)
    run("load", directory / "state.yaml")
    run("load", directory / "none.yaml", code=4)


def test_a_file_is_opened_once(run, directory, monkeypatch):
    """A named pipe that is closed loses its writer."""
    file, opened = directory / "state.yaml", []
    file.write_text("users: [{login: eve}]")
    for place, former in ((builtins, builtins.open), (Path, Path.open)):

        def counted(name, *args, former=former, **given):
            opened.append(str(name))
            return former(name, *args, **given)

        monkeypatch.setattr(place, "open", counted)
    run("load", file)
    assert opened.count(str(file)) == 1


def test_one_failure_undoes_all(load, listed, store: Store):
    refused = load("users: [{login: ada}]\nrepositories: [{name: eve/x}]", code=2)
    assert refused.stderr == (
        "Error: standard input:2: repositories[0]: there is no account 'eve':"
        " `tocsin user list` and `tocsin org list` list them\n"
    )
    assert store.read_sync(accounts.list_all) == []


def test_a_document_is_applied_again_after_a_conflict(
    load, store: Store, monkeypatch: pytest.MonkeyPatch
):
    create, errors = accounts.create, [Contended("busy")]

    def disturbed(*args, **given):
        row = create(*args, **given)
        if errors:
            raise errors.pop()
        return row

    monkeypatch.setattr(accounts, "create", disturbed)
    load("users: [{login: ada}]")
    assert [row["login"] for row in store.read_sync(accounts.list_all)] == ["ada"]


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ("users: [{login: ada, pass: x}]", "users[0].pass: there is no such key"),
        ("hocks: []", "hocks: there is no such key"),
        ("repositories: [{name: bells}]", "repositories[0].name:"),
        (
            "repositories: [{name: a/b, collaborators: {bob: king}}]",
            "repositories[0].collaborators.bob:",
        ),
        ("tokens: [{user: ada}]", "tokens[0]: a token without a value needs a note"),
        ("sources: [{name: forge}]", "sources[0].secret: it is missing"),
        ("hooks: [{repository: a/b, url: u, delivery: {timeout: 0}}]", "hooks[0].delivery.timeout"),
        ("users: [{login: ada}, {login: ADA}]", "the login 'ada' occurs 2 times"),
        ("users: [{login: ada, login: bob}]", "the key 'login' occurs 2 times"),
        ('{"users": [], "users": []}', "the key 'users' occurs 2 times"),
        ("a: &a [1]\nb: *a", "aliases are not allowed"),
        ("users: !!python/object/apply:os.system [ls]", "cannot be read"),
        ("users: [", "cannot be read"),
        ("{users", "cannot be read"),
        ("- a", "document:"),
        ("[" * 50_000, "nested too deeply"),
        ('{"a":' * 50_000, DEEP_JSON),
        ("#" * 4_000_001, "larger than"),
        (r'{"users": [{"login": "ada", "name": "\ud800"}]}', "users[0].name: a text must not hold"),
        (r'users: [{login: ada, name: "a\0b"}]', "users[0].name: a text must not hold a NUL"),
        (
            r'{"organizations": [{"login": "o", "members": {"\udfff": "admin"}}]}',
            "organizations[0].members: a text must not hold",
        ),
        (
            "hooks: [{repository: a/b, url: 'http://127.0.0.1/'}]",
            "hooks[0].url: 127.0.0.1 is refused: loopback",
        ),
        ("hooks: [{repository: a/b, url: 'ftp://receiver.example/'}]", "hooks[0].url:"),
        (
            "tokens: [{user: ada, note: ci, expires_at: '9999-12-31T23:59:59-01:00'}]",
            "tokens[0].expires_at: the year of 9999-12-31T23:59:59-01:00 is not 1 to 9999 in UTC",
        ),
        ("sources: [{name: FORGE, secret: x}]", "sources[0]: 'FORGE' is no source name"),
    ],
)
def test_bad_documents_are_refused(load, document, said):
    refused = load(document, code=2)
    assert said in refused.stderr
    assert "Traceback" not in refused.stderr


def test_every_mistake_is_named(load):
    lines = load("users: [{a: 1}]\nbla: 3", code=2).stderr.splitlines()
    assert len(lines) == 3


def test_a_wrong_value_is_not_repeated(load):
    document = "sources: [{name: forge, secret: [very, private]}]"
    assert "private" not in load(document, code=2).stderr


BATCHED = """
users: [{login: ada}]
repositories: [{name: ada/bells}]
hooks:
  - repository: ada/bells
    url: https://receiver.example/hook
    secret: quiet
    delivery:
      batch: {max_events: 5, max_wait: 2}
      filter: {cel: "payload.ref == 'refs/heads/main'"}
"""


def test_a_hook_with_batches_and_a_filter_in_cel(load, store: Store):
    load(BATCHED)
    assert set(outcomes(load(BATCHED, "--json")).values()) == {"unchanged"}
    hook = store.read_sync(hooks.by_id, 1)
    assert hook["options"]["batch"] == {"max_events": 5, "max_bytes": 1_000_000, "max_wait": 2}
    assert hook["options"]["filter"] == {"cel": "payload.ref == 'refs/heads/main'"}
    refused = load(BATCHED.replace("==", "="), code=2)
    assert "standard input:10: hooks[0].delivery.filter: cel: line 1, column 13" in refused.stderr


def test_a_document_that_is_no_utf8_is_refused(run):
    assert "not UTF-8" in run("load", "-", code=2, stdin=b"\xff\xfe\xff").stderr


SIGN_ON = """
users: [{login: ada}]
organizations: [{login: tower, members: {ada: admin}, sso: true}]
tokens: [{user: ada, note: in, sso: [tower]}, {user: ada, note: out}]
"""


def test_single_sign_on_and_authorized_tokens_are_loaded(load, store: Store):
    load(SIGN_ON)
    tower = store.read_sync(accounts.by_login, "tower")
    found = {row["note"]: row["id"] for row in store.read_sync(tokens.list_all)}
    assert store.read_sync(sso.permits, tower["id"], found["in"])
    assert not store.read_sync(sso.permits, tower["id"], found["out"])
    assert "0 created, 0 updated, 4 unchanged" in load(SIGN_ON).stdout
    again = load(SIGN_ON.replace("note: out", "note: out, sso: [tower]"))
    assert "0 created, 1 updated, 3 unchanged" in again.stdout
    assert store.read_sync(sso.permits, tower["id"], found["out"])
    load(SIGN_ON.replace("sso: true", "sso: false"))
    assert not store.read_sync(sso.enforced, tower["id"])


def many_hooks(count: int) -> str:
    hooks = [
        {"repository": "ada/engine", "url": f"https://receiver.example/{number}"}
        for number in range(count)
    ]
    return json.dumps(
        {"users": [{"login": "ada"}], "repositories": [{"name": "ada/engine"}], "hooks": hooks}
    )


def test_an_event_has_20_hooks_at_most(load, store: Store):
    load(many_hooks(20))
    refused = load(many_hooks(21), code=2)
    assert "hooks[20]" in refused.stderr
    assert 'The "push" event cannot have more than 20 hooks' in refused.stderr
    load(many_hooks(20))
    assert len(store.read_sync(hook_queries.every)) == 20


def test_the_limit_of_hooks_is_a_setting(load, store: Store, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TOCSIN_HOOKS_PER_EVENT", "22")
    load(many_hooks(22))
    assert "more than 22 hooks" in load(many_hooks(23), code=2).stderr
    monkeypatch.setenv("TOCSIN_HOOKS_PER_EVENT", "0")
    load(many_hooks(40))
    assert len(store.read_sync(hook_queries.every)) == 40


def test_a_pull_hook_is_loaded(load, store: Store):
    document = many_hooks(1).replace("https://receiver.example/0", "pull:ci")
    load(document)
    assert "0 created, 0 updated" in load(document).stdout
    assert [row["url"] for row in store.read_sync(hook_queries.every)] == ["pull:ci"]
    wrong = load(document.replace("pull:ci", "pull:"), code=2)
    assert "hooks[0].url" in wrong.stderr


def test_a_mistake_names_its_file_its_line_and_a_near_key(run, directory):
    (directory / "state.yaml").write_text(
        "users:\n  - login: ada\n    nmae: Ada\nrepositories:\n  - name: eve/x\n"
    )
    said = run("load", "state.yaml", code=2).stderr
    assert said == (
        "Error: state.yaml:3: users[0].nmae: there is no such key; did you mean 'name'?\n"
    )
    (directory / "state.yaml").write_text("users:\n  - login: ada\nrepositories:\n- name: eve/x\n")
    said = run("load", "state.yaml", code=2).stderr
    assert said.startswith("Error: state.yaml:4: repositories[0]: ")
    (directory / "state.yaml").write_text("users:\n  - login: [\n")
    assert run("load", "state.yaml", code=2).stderr.startswith("Error: state.yaml:3: ")


def test_only_init_makes_an_installation(run, fresh):
    document = "users: [{login: ada}]"
    run("load", "-", stdin=document, code=4)
    assert list(fresh.iterdir()) == []
    run("load", "-", "--init", stdin=document)
    assert "ada" in run("user", "list").stdout


AROUND = """
organizations: [{login: tower}]
hooks:
  - {organization: tower, url: 'https://receiver.example/all', events: [team]}
  - {url: 'https://receiver.example/all', events: ['*']}
"""


def test_hooks_around_repositories(load, store: Store):
    def listed():
        rows = store.read_sync(hook_queries.every)
        return [(row["repository"], row["organization"], row["events"]) for row in rows]

    load(AROUND)
    wanted = [(None, "tower", ["team"]), (None, None, ["*"])]
    assert listed() == wanted
    assert "0 created, 0 updated" in load(AROUND).stdout
    load(AROUND.replace("[team]", "[team, push]"))
    assert listed() == [(None, "tower", ["team", "push"]), wanted[1]]


@pytest.mark.parametrize(
    ("hook", "said"),
    [
        ("{repository: a/b, organization: a, url: u}", "a repository or an organization"),
        ("{organization: nobody, url: 'https://receiver.example/'}", "no organization 'nobody'"),
    ],
)
def test_a_hook_has_one_target(load, hook, said):
    assert said in load(f"hooks: [{hook}]", code=2).stderr
