"""Commands that create and list users, organizations, repositories, tokens and sources."""

import json
import shlex

import pytest
from engines import embedded

from store import Connection, Store
from store.accounts import accounts, teams, tokens
from store.delivery import sources
from store.repositories import repositories

pytestmark = pytest.mark.usefixtures("url")


def test_users(run, listed):
    run("user", "add", "ada", "--name", "Ada", "--site-admin")
    run("user", "add", "bob")
    assert [(row["login"], row["name"], row["site_admin"]) for row in listed("user", "list")] == [
        ("ada", "Ada", True),
        ("bob", None, False),
    ]
    shown = run("user", "list").stdout
    assert shown.splitlines()[0].split("\t")[1:5] == ["ada", "Ada", "", "yes"]


def test_a_taken_login_is_one_line(run):
    run("user", "add", "ada")
    refused = run("user", "add", "ADA", code=5)
    assert refused.stderr == "Error: there is an account 'ADA' already\n"
    assert refused.stdout == ""


@embedded("only the embedded engine creates a database by opening it")
def test_no_command_makes_an_installation_by_the_way(run, fresh):
    refused = run("user", "list", code=4)
    assert "tocsin serve" in refused.stderr
    assert "tocsin serve" in run("user", "add", "ada", code=4).stderr
    assert list(fresh.iterdir()) == []


def test_organizations(run, listed):
    run("user", "add", "ada")
    run("org", "add", "tower", "--name", "The tower")
    run("org", "join", "tower", "ada", "--role", "admin")
    (row,) = listed("org", "list")
    assert (row["login"], row["members"]) == ("tower", {"ada": "admin"})
    assert "ada=admin" in run("org", "list").stdout
    assert "no account 'eve'" in run("org", "join", "tower", "eve", code=4).stderr
    assert "no organization" in run("org", "join", "ada", "ada", code=4).stderr
    assert "only users" in run("org", "join", "tower", "tower", code=2).stderr
    run("org", "join", "tower", "ada", "--role", "owner", code=2)


def test_an_organization_keeps_its_last_administrator(run, listed):
    for login in ("ada", "bob"):
        run("user", "add", login)
    for organization in ("spire", "tower"):
        run("org", "add", organization)
        run("org", "join", organization, "ada", "--role", "admin")
    run("org", "join", "spire", "bob", "--role", "admin")
    said = run("org", "join", "tower", "ada", code=5).stderr
    assert "ada is the last administrator of tower" in said
    run("org", "leave", "tower", "ada", code=5)
    # The audit log has no command that was refused.
    latest = listed("audit", "list")[0]
    assert (latest["what"], latest["on"]) == ("tocsin org join", "spire bob")
    assert [row["members"]["ada"] for row in listed("org", "list")] == ["admin", "admin"]
    run("org", "join", "spire", "ada")
    members = {"ada": "member", "bob": "admin"}
    run("load", "-", stdin=json.dumps({"organizations": [{"login": "tower", "members": members}]}))
    assert [row["members"] for row in listed("org", "list")] == [members, members]


def test_a_member_leaves_an_organization_and_its_teams(run, listed, store: Store):
    for login in ("ada", "bob"):
        run("user", "add", login)
    run("org", "add", "tower")
    run("org", "join", "tower", "ada", "--role", "admin")
    run("org", "join", "tower", "bob")

    def ringers() -> int:
        return store.read_sync(lambda db: db.number("SELECT members FROM team"))

    def ring(db: Connection) -> None:
        tower, bob = accounts.by_login(db, "tower"), accounts.by_login(db, "bob")
        assert tower is not None
        assert bob is not None
        team = teams.create(db, tower["id"], "ringers")
        teams.join(db, team["id"], [bob["id"]])

    store.write_sync(ring)
    assert ringers() == 1
    assert run("org", "leave", "tower", "bob").stdout == "bob is no member of tower now\n"
    assert ringers() == 0
    assert [row["members"] for row in listed("org", "list")] == [{"ada": "admin"}]
    assert (
        "`tocsin org show tower` lists them" in run("org", "leave", "tower", "bob", code=4).stderr
    )
    assert "the last administrator of tower" in run("org", "leave", "tower", "ada", code=5).stderr
    assert [row["members"] for row in listed("org", "list")] == [{"ada": "admin"}]


def test_a_role_is_taken_away(run, listed):
    run("user", "add", "ada")
    run("user", "add", "bob")
    run("org", "add", "tower")
    run("repo", "add", "ada/bell")
    run("repo", "add", "tower/clock", "--private")
    for name in ("ada/bell", "tower/clock"):
        run("repo", "grant", name, "bob", "admin")
    said = run("repo", "withdraw", "tower/clock", "bob").stdout
    assert said == "bob has no role in tower/clock now\n"
    said = run("repo", "withdraw", "ada/bell", "bob").stdout
    assert said == "bob has the role read in ada/bell now\n"
    assert [row["collaborators"] for row in listed("repo", "list")] == [{}, {}]
    refused = run("repo", "withdraw", "tower/clock", "bob", code=4).stderr
    assert "bob was given no role in tower/clock: `tocsin repo show tower/clock` lists" in refused
    run("repo", "withdraw", "tower/clock", "eve", code=4)


def test_repositories(run, listed, store: Store):
    run("user", "add", "ada")
    run("user", "add", "bob")
    run("repo", "add", "ada/bell", "--private", "--description", "one bell")
    run("repo", "grant", "ada/bell", "bob", "admin")
    (row,) = listed("repo", "list")
    assert (row["repository"], row["private"], row["collaborators"]) == (
        "ada/bell",
        True,
        {"bob": "admin"},
    )
    assert store.read_sync(repositories.find, "ada", "bell")["description"] == "one bell"
    assert run("repo", "rename", "ada/bell", "chime").stdout == "ada/bell is ada/chime now\n"
    assert store.read_sync(repositories.find, "ada", "chime")["id"] == row["id"]
    run("repo", "add", "bell", code=2)
    run("repo", "add", "eve/bell", code=4)
    run("repo", "grant", "ada/none", "bob", "admin", code=4)
    run("repo", "grant", "ada/chime", "bob", "king", code=2)


def test_a_former_name_of_a_repository_leads_to_it(run, store: Store):
    run("user", "add", "ada")
    run("repo", "add", "ada/bell")
    run("repo", "rename", "ada/bell", "chime")
    assert "ada/chime" in run("repo", "show", "ada/bell").stdout
    refused = run("repo", "remove", "ada/bell", "--yes", code=4).stderr
    assert refused == "Error: the repository 'ada/bell' is called 'ada/chime' now\n"
    run("repo", "add", "ada/bell")
    assert "ada/bell" in run("repo", "show", "ada/bell").stdout
    run("repo", "remove", "ada/chime", "--yes")
    run("repo", "rename", "ada/none", "gong", code=4)


def test_a_token_is_shown_once(run, listed, store: Store):
    run("user", "add", "ada")
    made = run("token", "add", "ada", "--scope", "repo", "--note", "ci", "--expires", "30d")
    value = made.stdout.strip()
    found = store.read_sync(tokens.find, value)
    assert found["scopes"] == {"repo"}
    assert found["expires_at"] - store.clock.now() == pytest.approx(30 * 86400e6, abs=60e6)
    (row,) = listed("token", "list")
    assert (row["login"], row["note"], row["ends_with"]) == ("ada", "ci", value[-8:])
    assert value not in run("token", "list").output + str(row)
    assert value not in made.stderr


def test_token_permissions(run, store: Store):
    run("user", "add", "ada")
    made = run("token", "add", "ada", "--kind", "fine_grained", "--permission", "hooks=write")
    assert store.read_sync(tokens.find, made.stdout.strip())["permissions"] == {"hooks": "write"}
    run("token", "add", "ada", "--permission", "hooks", code=2)
    fine = ("token", "add", "ada", "--kind", "fine_grained")
    assert "level" in run(*fine, "--permission", "hooks=x", code=2).stderr
    refused = run("token", "add", "ada", "--scope", "nil", code=2).stderr
    assert "'nil' is no scope; the scopes are admin:business, " in refused
    run("token", "add", "ada", "--expires", "soon", code=2)
    run("token", "add", "eve", code=4)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("--permission hooks=read", "a token of the kind personal has scopes, and no permissions"),
        ("--kind fine_grained --scope repo", "has permissions, and no scopes"),
        ("--app Lab --permission hooks=read", "a token of the kind oauth has scopes"),
        ("--app Mill --scope repo", "a token of the kind app_user has permissions"),
        ("--fingerprint f-1", "--fingerprint is for an application's token"),
        ("--kind installation --app Mill --fingerprint ''", "no scopes or fingerprint"),
        (
            "--kind fine_grained --permission hooks=read --permission hooks=write",
            "hooks is given twice",
        ),
    ],
)
def test_a_right_that_a_token_would_ignore_is_refused(run, listed, given, said):
    run("user", "add", "ada")
    for name, kind in (("Lab", "oauth"), ("Mill", "integration")):
        run("app", "add", name, "--owner", "ada", "--url", "https://a.example/", "--kind", kind)
    assert said in run("token", "add", "ada", *shlex.split(given), code=2).stderr
    assert listed("token", "list") == []


def test_tokens_are_removed_together_or_not_at_all(run, listed):
    run("user", "add", "ada")
    for _ in range(2):
        run("token", "add", "ada")
    assert (
        "no token 9, and nothing was removed"
        in run("token", "remove", "--yes", 1, 9, code=4).stderr
    )
    assert len(listed("token", "list")) == 2
    run("token", "remove", "--yes", 1, 2)
    assert listed("token", "list") == []


def test_sources(run, listed, store: Store):
    def secret_of(name: str) -> str:
        return store.read_sync(
            lambda db: next(
                db.vault.open(row["secret"]) for row in sources.secrets(db) if row["name"] == name
            )
        )

    made = run("source", "add", "forge").stdout.strip()
    assert len(made) == 64
    assert secret_of("forge") == made
    given = run("source", "add", "piped", "--secret", "-", stdin="from a pipe\n")
    assert secret_of("piped") == "from a pipe"
    assert "from a pipe" not in given.output
    assert [row["name"] for row in listed("source", "list")] == ["forge", "piped"]
    run("source", "add", "forge", code=5)
    run("source", "add", "empty", "--secret", "-", stdin="\n", code=2)
    run("source", "add", "owned", "--owner", "nobody", code=4)
    run("source", "remove", "--yes", "forge")
    run("source", "remove", "--yes", "forge", code=4)
    assert [row["name"] for row in listed("source", "list")] == ["piped"]
