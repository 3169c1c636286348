"""Commands and state documents for applications, their tokens, and the logins of users."""

import json
from urllib.parse import parse_qs, urlsplit

import pytest
from app_tokens import app_key

from store import Store
from store.accounts import accounts, apps, grants, tokens, totp
from store.apps import app_manifests

pytestmark = pytest.mark.usefixtures("url")

SECRET = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
DOCUMENT = f"""
users:
  - {{login: ada, password: sesame, one_time_secret: {SECRET}}}
apps:
  - name: Lab
    owner: ada
    url: https://lab.example/
    client_id: lab-client
    client_secret: {"s" * 40}
  - {{name: Mill, owner: ada, url: "https://mill.example/", kind: integration,
     permissions: {{checks: write}}}}
installations:
  - {{app: mill, account: ada, repositories: []}}
tokens:
  - {{user: ada, app: lab, note: first, fingerprint: a, scopes: [repo]}}
  - {{user: ada, app: Mill, note: first}}
  - {{user: ada, kind: installation, note: itself, app: Mill}}
"""


@pytest.fixture
def ada(run):
    run("user", "add", "ada")


def add(run, name: str = "Lab", *more: str, code: int = 0):
    return run(
        "app", "add", name, "--owner", "ada", "--url", "https://x.example/", *more, code=code
    )


def test_an_app_s_secret_is_shown_once(run, listed, store: Store, ada):
    made = add(run, "Lab", "--description", "tries things")
    client_id, secret = made.stdout.split()
    app = store.read_sync(apps.by_client_id, client_id)
    assert apps.check_secret(app, secret)
    assert app["description"] == "tries things"
    (row,) = listed("app", "list")
    assert (row["name"], row["owner"], row["client_id"]) == ("Lab", "ada", client_id)
    assert secret not in run("app", "list").output + str(row) + made.stderr
    assert "already" in add(run, "LAB", code=5).stderr
    run("app", "add", "Other", "--owner", "eve", "--url", "https://x.example/", code=4)


def test_a_new_app_is_printed_as_json(run, store: Store, ada):
    made = json.loads(add(run, "Lab", "--json").stdout)
    app = store.read_sync(apps.by_client_id, made["client_id"])
    assert apps.check_secret(app, made["client_secret"])


def test_a_token_can_be_limited_to_where_the_app_is_installed(run, listed, store: Store, ada):
    add(run)
    add(run, "Mill", "--kind", "integration", "--permission", "checks=write")
    limited = run("token", "add", "ada", "--app", "Mill", "--where-installed").stdout.strip()
    run("token", "add", "ada", "--app", "Mill")
    run("token", "add", "ada")
    found = store.read_sync(tokens.find, limited)
    assert found["where_installed"].app_id == found["app_id"]
    rows = [(row["app"], row["where_installed"]) for row in listed("token", "list")]
    assert rows == [(None, False), ("Mill", False), ("Mill", True)]
    said = run("token", "add", "ada", "--app", "Lab", "--where-installed", code=2).stderr
    assert "only an integration can be installed" in said
    run("token", "add", "ada", "--where-installed", code=2)
    installed = ("--kind", "installation", "--where-installed")
    run("token", "add", "ada", "--app", "Mill", *installed, code=2)


def test_a_document_limits_a_token_to_where_the_app_is_installed(run, listed):
    limited = DOCUMENT.replace("app: Mill, note: first", "app: Mill, note: f, where_installed: on")
    load(run, limited)
    assert [row["note"] for row in listed("token", "list") if row["where_installed"]] == ["f"]
    assert "unchanged" in load(run, limited).output
    other = limited.replace("where_installed: on", "where_installed: off")
    assert "exists with other values" in load(run, other, code=2).stderr
    left_out = limited.replace(", where_installed: on", "")
    load(run, left_out)
    for old, new, said in (
        ("note: first, fingerprint", "note: g, where_installed: on, fingerprint", "integration"),
        ("kind: installation, note", "where_installed: on, kind: installation, note", "for an app"),
    ):
        assert said in load(run, DOCUMENT.replace(old, new), code=2).stderr


def test_a_token_can_belong_to_an_app(run, listed, store: Store, ada):
    add(run)
    add(run, "Mill", "--kind", "integration", "--permission", "checks=write")
    plain = run("token", "add", "ada", "--app", "lab", "--scope", "repo", "--fingerprint", "a")
    narrow = run("token", "add", "ada", "--app", "Mill")
    assert plain.stdout.startswith("tso_")
    assert narrow.stdout.startswith("tsu_")
    found = store.read_sync(tokens.find, narrow.stdout.strip())
    assert found["permissions"] == {"checks": "write"}
    assert [(row["app"], row["fingerprint"]) for row in listed("token", "list")] == [
        ("Mill", None),
        ("Lab", "a"),
    ]
    run("token", "add", "ada", "--app", "Lab", "--kind", "oauth", code=2)
    run("token", "add", "ada", "--app", "None", code=4)


def test_an_installation_token_needs_an_installation(run, store: Store, ada):
    add(run)
    add(run, "Mill", "--kind", "integration", "--permission", "checks=write")
    own = ("token", "add", "ada", "--kind", "installation", "--app")
    assert "no installation" in run(*own, "Mill", code=4).stderr
    run("app", "install", "mill", "ADA")
    made = run(*own, "Mill")
    assert made.stdout.startswith("ghs_")
    found = store.read_sync(tokens.find, made.stdout.strip())
    mill = store.read_sync(apps.by_name, "Mill")
    ada_id = store.read_sync(accounts.by_login, "ada")["id"]
    assert (found["app_id"], found["target_id"]) == (mill["id"], ada_id)
    assert found["permissions"] == {"metadata": "read", "checks": "write"}
    assert found["expires_at"] is not None
    assert "only an integration" in run(*own, "Lab", code=2).output
    assert "not granted" in run(*own, "Mill", "--permission", "checks=admin", code=2).output
    run(*own, "Mill", "--scope", "repo", code=2)


def test_keys_of_an_app(run, listed, store: Store, ada):
    add(run)
    add(run, "Mill", "--kind", "integration")
    made = run("app", "key", "add", "Mill").stdout
    assert made.startswith("-----BEGIN RSA PRIVATE KEY-----")
    assert made.endswith("-----END RSA PRIVATE KEY-----\n")
    public = app_key(0)[1]
    run("app", "key", "add", "Mill", "--public-key", "-", stdin=public)
    run("app", "key", "add", "Mill", "--public-key", "-", stdin=public, code=5)
    run("app", "key", "add", "Mill", "--public-key", "-", stdin=made, code=2)
    first, second = listed("app", "key", "list", "Mill")
    assert "PRIVATE" not in run("app", "key", "list", "Mill", "--json").output
    run("app", "key", "remove", "Mill", str(first["id"]), "--yes")
    run("app", "key", "revoke", "Mill", str(first["id"]), code=4)
    assert listed("app", "key", "list", "Mill") == [second]
    run("app", "key", "add", "Lab", code=2)


def test_a_manifest_is_stored_and_wrong_ones_are_refused(run, store: Store, ada):
    wanted = json.dumps({"name": "Kettle", "url": "https://kettle.example/"})
    code = run("app", "manifest", "-", "--owner", "ada", stdin=wanted).stdout.strip()
    assert store.write_sync(app_manifests.convert, code) is not None
    for wrong in ("{", "[]", "{}"):
        run("app", "manifest", "-", "--owner", "ada", stdin=wrong, code=2)


def test_with_an_app_go_its_tokens(run, listed, ada):
    add(run)
    run("token", "add", "ada", "--app", "Lab")
    run("app", "remove", "--yes", "lab")
    assert listed("app", "list") == listed("token", "list") == []
    assert "no app 'lab'" in run("app", "remove", "--yes", "lab", code=4).stderr


def test_a_password_is_set_and_removed(run, store: Store, ada):
    def good(password: str) -> bool:
        row = store.read_sync(accounts.by_login, "ada")
        return store.read_sync(accounts.check_password, row["id"], password)

    shown = run("user", "password", "ada", stdin="open sesame\n").output
    assert "open sesame" not in shown
    assert good("open sesame")
    run("user", "password", "ada", stdin="\n", code=2)
    assert good("open sesame")
    run("user", "password", "ada", "--remove")
    assert not good("open sesame")
    run("user", "password", "eve", "--remove", code=4)
    run("org", "add", "tower")
    assert "no user" in run("user", "password", "tower", "--remove", code=4).stderr


def test_one_time_passwords(run, store: Store, ada):
    uri = run("user", "one-time", "ada").stdout.strip()
    (secret,) = parse_qs(urlsplit(uri).query)["secret"]
    mine = store.read_sync(accounts.by_login, "ada")["id"]
    assert store.read_sync(totp.is_set_up, mine, secret)
    assert secret not in run("user", "list", "--json").output
    assert "removed" in run("user", "one-time", "ada", "--remove").stdout
    assert not store.read_sync(totp.required, mine)
    assert "there were no" in run("user", "one-time", "ada", "--remove").stdout


def load(run, document: str = DOCUMENT, code: int = 0):
    return run("load", "-", "--json", stdin=document, code=code)


def outcomes(result) -> list[str]:
    return [each["outcome"] for each in json.loads(result.stdout)["changes"]]


def test_a_document_creates_apps_tokens_and_logins(run, store: Store):
    result = load(run)
    assert outcomes(result) == ["created"] * 7
    reported = json.loads(result.stdout)
    mill = store.read_sync(apps.by_name, "mill")
    assert list(reported["app_secrets"]) == ["Mill"]
    assert apps.check_secret(mill, reported["app_secrets"]["Mill"])
    assert apps.check_secret(store.read_sync(apps.by_client_id, "lab-client"), "s" * 40)
    mine = store.read_sync(accounts.by_login, "ada")["id"]
    assert store.read_sync(accounts.check_password, mine, "sesame")
    assert store.read_sync(totp.is_set_up, mine, SECRET)
    found = store.read_sync(tokens.find, reported["tokens"]["ada lab first"])
    assert (found["kind"], found["scopes"]) == ("oauth", {"repo"})
    assert store.read_sync(grants.count, mine) == 2
    again = load(run)
    assert outcomes(again) == ["unchanged"] * 7
    assert json.loads(again.stdout)["app_secrets"] == {}
    for secret in ("sesame", SECRET, "s" * 40):
        assert secret not in result.output + again.output


@pytest.mark.parametrize(
    ("old", "new", "number"),
    [
        ("password: sesame", "password: mustard", 0),
        (SECRET, SECRET[::-1], 0),
        ("https://lab.example/", "https://lab.example/2", 1),
        ("s" * 40, "t" * 40, 1),
    ],
)
def test_a_changed_document_updates_one_part(run, old: str, new: str, number: int):
    load(run)
    found = outcomes(load(run, DOCUMENT.replace(old, new)))
    assert found == ["updated" if at == number else "unchanged" for at in range(7)]
    assert outcomes(load(run, DOCUMENT.replace(old, new))) == ["unchanged"] * 7


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("kind: integration", "kind: oauth", "apps[1]: the app 'Mill' has another"),
        ("lab-client", "other-client", "apps[0]: the app 'Lab' has another"),
        ("fingerprint: a", "fingerprint: b", "tokens[0]: this token exists"),
        ("app: Mill, note: f", "app: Mill, kind: app_user, note: f", "tokens[1]: an app's token"),
        ("app: Mill", "app: None", "tokens[1]: there is no app"),
        (SECRET, "AAAA", "users[0]: a one-time secret"),
        ("name: Mill", "name: LAB", "the app 'lab' occurs 2 times"),
    ],
)
def test_a_document_cannot_change_an_app_s_identity(run, old: str, new: str, said: str):
    load(run)
    assert said in load(run, DOCUMENT.replace(old, new), code=2).stderr
