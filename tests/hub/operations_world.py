"""A world in which every declared operation can be called: accounts, rows, and accepted tokens.

A new path parameter needs a line in SAMPLES, and a row in `make` that the line leads to.
"""

import base64
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any
from urllib.parse import urlencode

from app_tokens import app_key, signed_token
from assertions import attempted
from bearer import Headers, bearer
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id
from enterprises_world import TEAM, enterprise
from required import required

from hub.auth.access import Access
from hub.auth.app_access import AsInstallation
from hub.auth.token_rights import CLASSIC
from hub.operations import OPERATIONS
from hub.rest.operation import Operation
from hub.rest.resolve import PARAMETER
from store import Connection, Row, Store
from store.accounts import accounts, apps, authorizations, emails, grants, memberships, tokens
from store.accounts.permissions import LEVELS
from store.agents import agent_variables
from store.apps import app_hooks, app_keys, app_manifests, installation_tokens, installations
from store.artifacts import deployment_jobs, deployment_records
from store.artifacts.deployment_records import Deployment
from store.assistant import usage_days
from store.checks import check_annotations, check_runs, check_suites, commit_statuses
from store.clock import DAY, SECOND
from store.database.sqlite.engine import SqliteEngine
from store.delivery import attempts, outbox, sources
from store.delivery.events import accept_all
from store.delivery.incoming import IncomingEvent
from store.devenvs import devenv_secrets, devenvs
from store.hooks import hook_targets, hooks
from store.imports import import_contents, import_rounds, imports
from store.issues import (
    commit_comments,
    issue_events,
    issue_field_values,
    issue_fields,
    issues,
    pulls,
)
from store.issues.issue_events import IssueEventData
from store.issues.issue_field_values import FieldAssignment
from store.projection import issue_comment_projection, projection_table, workflow_projection
from store.repositories import (
    interaction_limits,
    invitations,
    licenses,
    refs,
    repositories,
    rule_suites,
    watching,
)
from store.repositories.licenses import LicenseFile
from store.repositories.markdown import RenderedText

PASSWORD = "open sesame"
SECRET = "s" * 40
# A cheap hash, so that many requests with the password take little time.
HASHED = Argon2id(
    salt=b"s" * 16, length=32, iterations=1, lanes=1, memory_cost=8
).derive_phc_encoded(PASSWORD.encode())
RECEIVER = "https://receiver.example/in"
# A merged pull request has the number of another one and this in addition.
MERGED = 100
COMMIT = "6dcb09b5b57875f334f61aebed695e2e4193db5e"
# The number of the rule suites of octo/hello and acme. octo/vault and umbra have the next number.
SUITE = 3_001
# Tables that `state` leaves out: counts that any request changes, and records of the database.
COUNTS = {"spent", "failed_login", "refusal", "migration", "sqlite_sequence"}
# Columns that are written a moment after a request, whatever its response.
NOTED = {"authenticated_at"}
DIGEST = f"sha256:{'a' * 64}"
State = dict[str, list[tuple[Any, ...]]]


@dataclass(frozen=True)
class Place:
    """A repository, and the ids of rows in it."""

    repo: Row
    hook: int
    delivery: int
    comment: int
    issue: int
    """The issue's number."""
    issue_event: int
    check_run: int = 0
    check_suite: int = 0
    workflow_run: int = 0
    invitation: int = 0
    """octo is invited to octo/hello, and reader to octo/vault."""
    author: int = 0
    """The id of an author in an import."""
    milestone: int = 0
    """The milestone's number."""


@dataclass(frozen=True)
class Belongings:
    """The rows of one user."""

    account: Row
    grant: int
    authorization: int


@dataclass(frozen=True)
class Holding:
    """An organization, and rows that it owns."""

    account: Row
    repo: Row
    job: int
    issue_field: int
    hook: int
    delivery: int = 0


@dataclass
class World:
    """The rows that operations can name, and the headers of their callers.

    - octo administers the public octo/hello and the private octo/vault, whose former names are
      octo/before and octo/crypt.
    - reader may see octo/hello, but not octo/vault.
    - octo owns the organization acme with acme/tools, and reader owns umbra with umbra/kit.
    - bella is a public member of both organizations.
    - acme belongs to octo's enterprise globe, and umbra to reader's enterprise moon.
    - reader owns the OAuth app lab and the integrations mill and kiln, which octo has installed.
    """

    store: Store
    hello: Place
    vault: Place
    octo: Belongings
    reader: Belongings
    lab: Row
    mill: Row
    mill_on_octo: Row
    kiln_on_octo: Row
    anvil: Row
    """An app with every permission, installed on octo and on acme."""
    quarry: Row
    """An app with every permission, installed nowhere."""
    acme: Holding
    umbra: Holding
    app_hooks: list[tuple[int, int]]
    """For mill and for kiln: the id of its hook, and the id of a delivery."""
    _tokens: dict[Any, str] = field(default_factory=dict)
    _read: tuple[int, State] = (-1, {})
    _manifests: int = 0

    def token(self, account: Row | None = None, **what: Any) -> Headers:
        """The header with a token of the account (default: octo). Equal arguments share a token."""
        account = account or self.octo.account
        key = (account["id"], *((name, repr(value)) for name, value in sorted(what.items())))
        if what.get("kind") == "app_user":
            what = {"app_id": self.mill["id"], **what}
        if key not in self._tokens:
            self._tokens[key], _ = self.store.write_sync(
                lambda db: tokens.create(db, account["id"], **what)
            )
        return bearer(self._tokens[key])

    def where_installed(self, app: Row, account: Row | None = None, **what: Any) -> Headers:
        """The header with a token of the account (default: octo) that needs the installed app."""
        what |= {"kind": "app_user", "app_id": app["id"], "where_installed": True}
        return self.token(account, **what)

    def installed(self) -> Headers:
        """The header with a token of mill's installation on octo."""
        if "installed" not in self._tokens:
            self._tokens["installed"], _ = self.store.write_sync(
                installation_tokens.create, self.mill_on_octo
            )
        return bearer(self._tokens["installed"])

    def manifest_code(self) -> str:
        """The code of a new app manifest of octo's."""
        self._manifests += 1
        wanted = {"name": f"Kettle {self._manifests}", "url": "https://kettle.example/"}
        return self.store.write_sync(app_manifests.create, self.octo.account["id"], wanted)

    def signed(self) -> Headers:
        """The header with a JSON Web Token that mill has signed."""
        now = self.store.clock.now() // SECOND
        key = ("signed", now)
        if key not in self._tokens:
            self._tokens[key] = signed_token(self.mill["id"], now)
        return bearer(self._tokens[key])

    def state(self) -> State:
        """The rows of all tables, without the tables in COUNTS and the columns in NOTED."""
        version = self._version()
        if version != self._read[0]:
            self._read = version, self._rows(self._raw)
        return self._read[1]

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Assert that the block changes nothing in `state`.

        The rows are read only if there was a write: the older ones from a transaction that began
        before the block. Reading them takes longer than most requests.
        """
        version = self._version()
        self._older.execute("BEGIN")
        self._older.execute("SELECT 1 FROM sqlite_master").fetchone()
        try:
            yield
            if self._version() != version:
                assert self._rows(self._raw) == self._rows(self._older)
        finally:
            self._older.execute("ROLLBACK")

    def _version(self) -> int:
        """A number that changes when another connection has written."""
        (version,) = self._raw.execute("PRAGMA data_version").fetchone()
        return int(version)

    def _rows(self, raw: sqlite3.Connection) -> State:
        return {name: raw.execute(select).fetchall() for name, select in self._selects.items()}

    @cached_property
    def _selects(self) -> dict[str, str]:
        """The statement for each table that reads what `state` has of it."""
        names = self._raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        return {name: self._select(name) for name in sorted({name for (name,) in names} - COUNTS)}

    def _select(self, table: str) -> str:
        columns = [row[1] for row in self._raw.execute(f"PRAGMA table_info({table})")]
        compared = [column for column in columns if column not in NOTED]
        return f"SELECT {', '.join(compared)} FROM {table}"

    def moved(self, store: Store) -> "World":
        """The same world in a copy of its store."""
        return replace(self, store=store, _tokens={}, _read=(-1, {}), _manifests=0)

    def close(self) -> None:
        """Close the connections that `state` and `unchanged` use."""
        self._raw.close()
        self._older.close()

    @cached_property
    def _raw(self) -> sqlite3.Connection:
        return self._connected()

    @cached_property
    def _older(self) -> sqlite3.Connection:
        return self._connected()

    def _connected(self) -> sqlite3.Connection:
        engine = self.store.engine
        assert isinstance(engine, SqliteEngine)
        return sqlite3.connect(engine.path, isolation_level=None)


def basic(user: str, password: str) -> Headers:
    pair = base64.b64encode(f"{user}:{password}".encode()).decode()
    return {"Authorization": f"Basic {pair}"}


@dataclass(frozen=True)
class Sample:
    """Values for a path parameter.

    `own` leads to a row that the caller may see. `other` leads to a row that exists, but has
    another owner or place (None: no such row). `absent` leads to no row.
    """

    own: Callable[[World], object]
    other: Callable[[World], object] | None = None
    absent: str = "987654321"


SAMPLES = {
    "owner": Sample(lambda w: "octo", lambda w: "octo", "octo"),
    "repo": Sample(lambda w: "hello", lambda w: "vault", "nothing"),
    "hook_id": Sample(lambda w: w.hello.hook, lambda w: w.vault.hook),
    "delivery_id": Sample(lambda w: w.hello.delivery, lambda w: w.vault.delivery),
    "grant_id": Sample(lambda w: w.octo.grant, lambda w: w.reader.grant),
    "authorization_id": Sample(lambda w: w.octo.authorization, lambda w: w.reader.authorization),
    "client_id": Sample(lambda w: "lab-client", lambda w: "mill-client", "nobody"),
    "fingerprint": Sample(lambda w: "laptop", absent="nothing"),
    "license": Sample(lambda w: "mit", absent="nothing"),
    "enterprise": Sample(lambda w: "globe", lambda w: "moon", "nothing"),
    "enterprise-team": Sample(lambda w: TEAM, lambda w: "ent:moon"),
    "team_slug": Sample(lambda w: TEAM, lambda w: "ent:moon", "ent:nothing"),
    "org": Sample(lambda w: "acme", lambda w: "umbra", "nobody"),
    "comment_id": Sample(lambda w: w.hello.comment, lambda w: w.vault.comment),
    "milestone_number": Sample(lambda w: w.hello.milestone, lambda w: w.vault.milestone),
    "pull_number": Sample(lambda w: w.hello.issue, lambda w: w.vault.issue),
    "issue_number": Sample(lambda w: w.hello.issue, lambda w: w.vault.issue),
    "issue_field_id": Sample(lambda w: w.acme.issue_field, lambda w: w.umbra.issue_field),
    "event_id": Sample(lambda w: w.hello.issue_event, lambda w: w.vault.issue_event),
    "commit_sha": Sample(lambda w: COMMIT),
    "sha": Sample(lambda w: COMMIT),
    "ref": Sample(lambda w: "heads%2Fmain"),
    "review_id": Sample(lambda w: w.hello.comment, lambda w: w.vault.comment),
    "check_run_id": Sample(lambda w: w.hello.check_run, lambda w: w.vault.check_run),
    "rule_suite_id": Sample(lambda w: SUITE, lambda w: SUITE + 1),
    "run_id": Sample(lambda w: w.hello.workflow_run, lambda w: w.vault.workflow_run),
    "attempt_number": Sample(lambda w: 1),
    "workflow_id": Sample(lambda w: w.hello.workflow_run, lambda w: w.vault.workflow_run),
    "concurrency_group_name": Sample(lambda w: "of-hello", lambda w: "of-vault", "production"),
    "check_suite_id": Sample(lambda w: w.hello.check_suite, lambda w: w.vault.check_suite),
    "invitation_id": Sample(lambda w: w.hello.invitation, lambda w: w.vault.invitation),
    "author_id": Sample(lambda w: w.hello.author, lambda w: w.vault.author),
    "cluster": Sample(lambda w: "moon"),
    "job_id": Sample(lambda w: w.acme.job, lambda w: w.umbra.job),
    "subject_digest": Sample(lambda w: DIGEST),
    "devenv_name": Sample(lambda w: "octo-den", lambda w: "reader-den", "nothing"),
    "secret_name": Sample(lambda w: "KEY", absent="NOTHING"),
    "name": Sample(lambda w: "REGION", lambda w: "umbra_ONLY", "NOTHING"),
    "repository_id": Sample(lambda w: w.acme.repo["id"], lambda w: w.umbra.repo["id"]),
    "code": Sample(lambda w: w.manifest_code()),
    "app_slug": Sample(lambda w: "mill", absent="nothing"),
    "installation_id": Sample(lambda w: w.mill_on_octo["id"], lambda w: w.kiln_on_octo["id"]),
    "branch": Sample(lambda w: "main", absent="nothing"),
    "account_id": Sample(lambda w: w.reader.account["id"]),
    "username": Sample(lambda w: "reader", absent="nobody"),
}


# Samples for the operations of one group, or for one operation, if SAMPLES has the wrong row.
OF_SOME = {
    ("actions", "job_id"): Sample(lambda w: w.hello.workflow_run, lambda w: w.vault.workflow_run),
    ("orgs", "hook_id"): Sample(lambda w: w.acme.hook, lambda w: w.umbra.hook),
    ("orgs", "delivery_id"): Sample(lambda w: w.acme.delivery, lambda w: w.umbra.delivery),
    ("apps", "delivery_id"): Sample(lambda w: w.app_hooks[0][1], lambda w: w.app_hooks[1][1]),
    ("apps/get-org-installation", "org"): Sample(lambda w: "acme", absent="nobody"),
    ("apps/get-user-installation", "username"): Sample(lambda w: "octo", absent="nobody"),
    ("orgs", "username"): Sample(lambda w: "bella", absent="nobody"),
    ("issues/check-user-can-be-assigned", "username"): Sample(lambda w: "octo", absent="nobody"),
    ("pulls/check-if-merged", "pull_number"): Sample(
        lambda w: w.hello.issue + MERGED, lambda w: w.vault.issue + MERGED
    ),
    ("repos/check-collaborator", "username"): Sample(lambda w: "octo", absent="nobody"),
}


QUERIES = {"day": lambda w: usage_days.iso(usage_days.of_moment(w.store.clock.now()) - 1)}
"""Values for required parameters of the query."""


def sample(operation: Operation, name: str) -> Sample:
    """The sample for a path parameter. AssertionError if there is none."""
    found = OF_SOME.get((operation.id, name)) or OF_SOME.get((operation.group, name))
    found = found or SAMPLES.get(name)
    assert found is not None, (
        f"{operation.id}: nothing stands for {{{name}}} of {operation.path}; give it a line in"
        " SAMPLES of tests/hub/operations_world.py, and a row in its world"
    )
    return found


def path(operation: Operation, world: World, **changed: str) -> str:
    """The operation's path to rows that octo may see; `changed` replaces parameters."""

    def value(name: str) -> str:
        return changed[name] if name in changed else str(sample(operation, name).own(world))

    asked = {name: QUERIES[name](world) for name in _required(operation.id)}
    filled = PARAMETER.sub(lambda found: value(found[1]), operation.path)
    return f"{filled}?{urlencode(asked)}" if asked else filled


@cache
def _required(operation_id: str) -> tuple[str, ...]:
    """The required parameters of an operation's query."""
    (query,) = (one.query for one in OPERATIONS if one.id == operation_id)
    return () if query is None else tuple(query.json_schema().get("required", ()))


def private(operation: Operation, world: World, **changed: str) -> str:
    """Like `path`, but with the `other` samples: in octo's private repository, for example."""
    others = {
        name: str(found.other(world))
        for name in PARAMETER.findall(operation.path)
        if (found := sample(operation, name)).other is not None
    }
    return path(operation, world, **{**others, **changed})


def rows(operation: Operation) -> list[str]:
    """The path's parameters that name a row, without owner and repository."""
    names = [name for name in PARAMETER.findall(operation.path) if name not in ("owner", "repo")]
    if operation.access.credentials == "app":
        return [name for name in names if name != "client_id"]
    steps = operation.steps[-len(names) :] if names else ()
    return [name for name, step in zip(names, steps, strict=True) if step.is_row]


def let_in(operation: Operation, world: World) -> dict[str, Headers]:
    """The headers with each kind of credentials that the declaration accepts, by name."""
    access = operation.access
    if access.credentials == "password":
        return {"octo in person": basic("octo", PASSWORD)}
    if access.credentials == "app":
        return {"the app itself": basic("lab-client", SECRET)}
    if access.credentials == "jwt":
        return {"the app itself": world.signed()}
    if isinstance(access, AsInstallation):
        return {"an installation": world.installed()}
    if access.credentials == "none":
        return {"a client with the code": {}}
    return {
        f"{kind} {what}": world.token(kind=kind, **what)
        for kind in access.kinds
        for what in _enough(access, kind)
    }


def _enough(access: Access, kind: str) -> Iterator[dict[str, Any]]:
    if kind in CLASSIC:
        yield from ({"scopes": [scope]} for scope in access.accepted)
        if not access.accepted:
            yield {}
    else:
        yield from ({"permissions": dict([one])} for one in access.permissions)
        if not access.permissions:
            yield {}


def first(operation: Operation, world: World) -> Headers:
    """The first of these headers, which also gives access to private rows."""
    return next(iter(let_in(operation, world).values()))


def make(store: Store) -> World:
    """Create the world in an empty store."""
    world = store.write_sync(_people, store)
    for place in (world.hello, world.vault, world.acme, world.umbra):
        attempted(store, place.hook)
    for hook_id, _ in world.app_hooks:
        attempted(store, hook_id)
    return store.write_sync(_with_checks, store.write_sync(_with_deliveries, world))


def _people(db: Connection, store: Store) -> World:
    octo, reader = (accounts.create(db, name) for name in ("octo", "reader"))
    for account in (octo, reader):
        accounts.set_password(db, account["id"], HASHED)
        address = f"{account['login']}@tower.example"
        emails.add(db, account["id"], [address], verified=True)
        emails.set_visibility(db, account["id"], "public")
    holdings = _holding(db, octo, "acme", "tools"), _holding(db, reader, "umbra", "kit")
    for slug, owner, other, holding in (
        ("globe", octo, reader, holdings[0]),
        ("moon", reader, octo, holdings[1]),
    ):
        enterprise(db, slug, owner, other, holding.account)
    hello, vault = (
        _repository(db, octo, name, before, private=private)
        for name, before, private in (("hello", "before", False), ("vault", "crypt", True))
    )
    hello, vault = (
        _inviting(db, *given) for given in ((hello, octo, reader), (vault, reader, octo))
    )
    for place, holding in zip((hello, vault), holdings, strict=True):
        issue = required(issues.get(db, place.repo["id"], place.issue))
        # The API refuses the field of another organization, but shows its value if there is one.
        issue_field_values.fill(db, issue, {holding.issue_field: FieldAssignment(3)})
    for account in (octo, reader):
        watching.put(db, hello.repo["id"], account["id"], subscribed=True, ignored=False)
        den = {"account_id": account["id"], "repo_id": hello.repo["id"], "ref": "main"}
        den |= {"machine": "basicLinux32gb", "location": "EastUs"}
        devenvs.put(db, f"{account['login']}-den", den)
    watching.put(db, vault.repo["id"], octo["id"], subscribed=True, ignored=False)
    interaction_limits.limit_repository(db, hello.repo, "existing_users", db.now + DAY)
    lab, mill = (
        _app(db, reader, name, kind) for name, kind in (("lab", "oauth"), ("mill", "integration"))
    )
    sources.create(db, "forge", SECRET)
    owned = _belongings(db, octo, lab), _belongings(db, reader, lab)
    grants.issue(db, mill, octo["id"])
    app_keys.add(db, mill["id"], app_key(0)[1])
    kiln = _app(db, reader, "kiln", "integration")
    acme = holdings[0].account
    installations.create(db, mill, acme)
    installed = installations.create(db, mill, octo), installations.create(db, kiln, octo)
    pinged = [(_pinged(db, app), 0) for app in (mill, kiln)]
    # The installations keep what they have accepted. A user's token has at most what mill has now.
    apps.update(db, mill["id"], **_fields(mill) | {"permissions": _every_permission()})
    anvil, quarry = (_app(db, reader, name, "integration") for name in ("anvil", "quarry"))
    for app in (anvil, quarry):
        apps.update(db, app["id"], **_fields(app) | {"permissions": _every_permission()})
    for account in (octo, acme):
        installations.create(db, required(apps.get(db, anvil["id"])), account)
    powers = anvil, quarry
    return World(store, hello, vault, *owned, lab, mill, *installed, *powers, *holdings, pinged)


def _pinged(db: Connection, app: Row) -> int:
    """Create the hook of an app with a ping. Return the hook's id."""
    hook = app_hooks.create(db, app, url=RECEIVER, content_type="json")
    outbox.emit(db, "ping", None, 0, {"zen": "Ring once."}, only_hook=hook["id"])
    return int(hook["id"])


def _holding(db: Connection, owner: Row, login: str, repo_name: str) -> Holding:
    organization = accounts.create(db, login, kind="Organization")
    accounts.join(db, organization["id"], owner["id"], "admin")
    ringer = accounts.by_login(db, "bella") or accounts.create(db, "bella")
    accounts.join(db, organization["id"], ringer["id"], "member")
    memberships.publicize(db, organization["id"], ringer["id"], True)
    repo = repositories.create(db, organization["id"], repo_name)
    for name in ("region", f"{login}_only"):
        agent_variables.create(db, organization["id"], name, "x", "selected", [repo["id"]])
    built = Deployment(repo["id"], None, "bell", DIGEST, None, "deployed", "one", None, None)
    where = deployment_records.DeploymentPlace("production", cluster="moon")
    job = deployment_jobs.create(db, organization["id"], owner["id"], where, [built])
    field = issue_fields.create(db, organization["id"], "Effort", "number", visibility="all")
    target = hook_targets.organization(organization["id"])
    hook = hooks.create(db, target, url=RECEIVER, events=["push"], content_type="json")
    accept_all(db, [IncomingEvent(repo["id"], f"guid-{login}", repo["id"], "push", b"{}")])
    return Holding(organization, repo, job, field["id"], hook["id"])


def _repository(db: Connection, owner: Row, name: str, before: str, *, private: bool) -> Place:
    made = repositories.create(db, owner["id"], before, private=private)
    repo = repositories.rename(db, made, name)
    licenses.put(db, repo["id"], "main", LicenseFile("LICENSE", b"All rights reserved."))
    hook = hooks.create(db, repo["id"], url=RECEIVER, events=["push"], content_type="json")
    accept_all(
        db, [IncomingEvent(repo["id"], f"guid-{name}", repo["id"], "push", b'{"ref":"main"}')]
    )
    devenv_secrets.put(db, repo["id"], "key", b"hush")
    comment = commit_comments.create(
        db, repo["id"], owner["id"], COMMIT, RenderedText("Well *done*")
    )
    number, happened = _issue(db, repo, 8 if private else 7, comment["id"])
    return Place(repo, hook["id"], 0, comment["id"], number, happened, milestone=number)


def _issue(db: Connection, repo: Row, number: int, comment: int) -> tuple[int, int]:
    """Create a pull request with a label, a comment and an event.

    Return its number, which is also its milestone's number, and the event's id.
    """
    given = {
        "number": number,
        "title": "Spelling",
        "user": {"login": repo["owner"]},
        "pull_request": {},
        # The path parameter `name` means a label in some operations and a variable in others.
        "labels": [{"name": "umbra_ONLY" if repo["private"] else "REGION"}],
        "milestone": {"number": number, "title": "v1.0", "creator": {"login": repo["owner"]}},
    }
    ends = {"head": {"ref": "typo", "sha": COMMIT, "repo": {"full_name": repo["full_name"]}}}
    given |= ends | {"merged_by": given["user"]}
    pulls.put(db, repo, given, projection_table.projected_events(db))
    merged = {"number": number + MERGED, "state": "closed", "merged_at": "2026-11-20T10:00:00Z"}
    pulls.put(db, repo, given | merged, projection_table.projected_events(db))
    issue = required(issues.get(db, repo["id"], number))
    label = {"label": {"name": "bug", "color": "ff0000"}}
    issue_events.add(db, issue, [IssueEventData("labeled", repo["owner_id"], db.now, label)])
    said = {"id": comment, "user": given["user"], "body": "Indeed"}
    said["pull_request_review_id"] = comment
    event = projection_table.projected_events(db)
    for kind in ("comment", "review", "line"):
        issue_comment_projection.put_comment(db, repo, issue, kind, said, event)
    (event,) = issue_events.of_issue(db, issue["id"], limit=1, offset=0)
    return number, event["id"]


def _inviting(db: Connection, place: Place, guest: Row, host: Row) -> Place:
    row, _ = invitations.invite(db, place.repo["id"], guest["id"], host["id"], "read")
    return replace(place, invitation=row["id"], author=_imported(db, place.repo))


def _imported(db: Connection, repo: Row) -> int:
    """Create a failed import with an author. Return the author's id."""
    row = imports.start(db, repo["id"], repo["owner_id"], "https://source.example/a.git")
    import_rounds.stop(db, row, "auth_failed")
    found = [import_contents.Author(f"of {repo['name']}", "Ada", "ada@tower.example")]
    import_contents.put_authors(db, repo["id"], found)
    (author,) = import_contents.authors(db, repo["id"], limit=2)
    return int(author["id"])


def _app(db: Connection, owner: Row, name: str, kind: str) -> Row:
    _, app = apps.create(
        db,
        owner["id"],
        name,
        url=f"https://{name}.example/",
        kind=kind,
        permissions={"contents": "write"} if kind == "integration" else {},
        client_id=f"{name}-client",
        client_secret=SECRET,
    )
    return app


def _fields(app: Row) -> apps.AppFields:
    return {
        "url": app["url"],
        "description": app["description"],
        "permissions": app["permissions"],
        "events": app["events"],
        "public": app["public"],
    }


def _every_permission() -> dict[str, str]:
    return {
        name: LEVELS[-1] for operation in OPERATIONS for name, _ in operation.access.permissions
    }


def _belongings(db: Connection, account: Row, app: Row) -> Belongings:
    _, made = authorizations.create_for_app(db, account["id"], app, fingerprint="laptop")
    grant = required(grants.of_app(db, account["id"], app["id"]))
    return Belongings(account, grant["id"], made["id"])


def _with_deliveries(db: Connection, world: World) -> World:
    delivered = {}
    for name in ("hello", "vault", "acme", "umbra"):
        place = getattr(world, name)
        (attempt,) = attempts.page(db, place.hook, limit=2)
        delivered[name] = replace(place, delivery=attempt["id"])
    pinged = [(hook, attempts.page(db, hook, limit=1)[0]["id"]) for hook, _ in world.app_hooks]
    return replace(world, app_hooks=pinged, **delivered)


def _with_checks(db: Connection, world: World) -> World:
    places = [_checked(db, place, world.mill) for place in (world.hello, world.vault)]
    owned = (world.hello.repo, world.vault.repo, world.acme.repo, world.umbra.repo)
    for at, repo in enumerate(owned):
        _pushed(db, repo, SUITE + at % 2)
    return replace(world, hello=places[0], vault=places[1])


def _checked(db: Connection, place: Place, app: Row) -> Place:
    refs.put(db, place.repo["id"], "refs/heads/main", COMMIT)
    suite, _ = check_suites.of_app(db, place.repo["id"], COMMIT, app["id"], "main")
    fields = {"name": "lint", "status": "completed", "conclusion": "neutral"}
    run = check_runs.create(db, suite, fields)
    line = {"path": "a.py", "start_line": 1, "end_line": 1, "level": "notice", "message": "Hm"}
    check_annotations.append(db, run["id"], [line])
    check_suites.roll_up(db, suite["id"])
    said = {"state": "pending", "context": "lint"}
    commit_statuses.create(db, place.repo["id"], COMMIT, place.repo["owner_id"], said)
    running = _running(db, place.repo)
    return replace(
        place, check_run=run["number"], check_suite=suite["number"], workflow_run=running
    )


def _pushed(db: Connection, repo: Row, number: int) -> None:
    reported = {"id": number, "ref": "refs/heads/main", "before_sha": "0" * 40, "after_sha": COMMIT}
    rule_suites.put(
        db, repo, reported | {"actor_name": "octo"}, projection_table.projected_events(db)
    )


def _running(db: Connection, repo: Row) -> int:
    """Create a run that holds a concurrency group and names an inactive one. Return its number,
    which is its job's, too.
    """
    number = 2_000 + int(repo["id"])
    reported = {
        "workflow_run": {"id": number, "status": "in_progress", "actor": {"login": "octo"}}
        | {"workflow_id": number},
        "concurrency": {"group": f"of-{repo['name']}", "configured": ["production"]},
    }
    event = projection_table.projected_events(db)
    workflow_projection.project_run(db, repo, reported, event)
    job = {"id": number, "run_id": number, "name": "peal"}
    workflow_projection.project_job(db, repo, {"workflow_job": job}, event)
    return number


def parameters(operation: Operation) -> Mapping[str, Sample]:
    """The path's parameters, each with its sample."""
    return {name: sample(operation, name) for name in PARAMETER.findall(operation.path)}
