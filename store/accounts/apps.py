"""Applications: other people's programs that hold tokens of users, and their client secrets.

An integration also acts for itself, on the accounts where it is installed.
"""

import json
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from hmac import compare_digest
from urllib.parse import urlsplit

from typing_extensions import TypedDict, Unpack

from store.accounts import bots
from store.accounts.permissions import checked
from store.accounts.tokens import digest
from store.database.connection import Connection, Row
from store.errors import Conflict, Invalid

# Kind of application to the kind of the tokens that it holds for users.
KINDS = {"oauth": "oauth", "integration": "app_user"}
NAME = re.compile(r"[^\x00-\x1f\x7f]{1,100}")
CLIENT_ID = re.compile(r"[0-9A-Za-z._-]{8,20}")
CLIENT_SECRET = re.compile(r"[!-~]{20,40}")
NO_SLUG = re.compile(r"[^a-z0-9]+")
EVENT = re.compile(r"[a-z_]{1,100}|\*")
COLUMNS = (
    "p.id, p.owner_id, a.login AS owner, p.kind, p.name, p.slug, p.url, p.description,"
    " p.permissions, p.events, p.public, p.bot_id, p.client_id, p.secret_hash, p.created_at,"
    " p.updated_at"
)
OWNED = "FROM app p JOIN account a ON a.id = p.owner_id"
SELECT = f"SELECT {COLUMNS} {OWNED}"


def create(
    db: Connection,
    owner_id: int,
    name: str,
    *,
    url: str,
    kind: str = "oauth",
    description: str | None = None,
    permissions: Mapping[str, str] | None = None,
    events: Iterable[str] = (),
    public: bool = True,
    client_id: str | None = None,
    client_secret: str | None = None,
) -> tuple[str, Row]:
    """Create an application. Return its client secret, which is not stored, and its row.

    Raises Invalid for bad values, Conflict if the name or the client id is in use. Names that
    differ only in case or punctuation are the same name in URLs.
    """
    client_secret = secrets.token_hex(20) if client_secret is None else client_secret
    client_id = secrets.token_hex(10) if client_id is None else client_id
    events = checked_events(events)
    _check(name, url, kind, client_id)
    _check_rights(name, kind, permissions, events)
    made = db.value(
        "INSERT INTO app (owner_id, kind, name, name_key, slug, url, description, permissions,"
        " events, public, client_id, secret_hash, created_at, updated_at) VALUES (:owner_id,"
        " :kind, :name, :key, :slug, :url, :description, :permissions, :events, :public,"
        " :client_id, :hash, :now, :now) ON CONFLICT DO NOTHING RETURNING id",
        owner_id=owner_id,
        kind=kind,
        name=name,
        key=name.lower(),
        slug=slug_of(name),
        url=url,
        description=description,
        permissions=_written(permissions or {}),
        events=json.dumps(events),
        public=int(public),
        client_id=client_id,
        hash=_hash(client_secret),
    )
    if made is None:
        raise Conflict(f"an app with the name {name!r} or this client id exists already")
    if kind == "integration":
        bot_id = bots.create(db, slug_of(name))
        db.update("app", made, bot_id=bot_id)
    row = get(db, made)
    assert row is not None
    return client_secret, row


def slug_of(name: str) -> str:
    """Convert an app's name into a part of a URL."""
    return NO_SLUG.sub("-", name.lower()).strip("-") or "app"


def _written(held: Mapping[str, str]) -> str:
    # The keys are sorted, so that equal permissions are equal texts.
    return json.dumps(checked(held), sort_keys=True)


def checked_events(events: Iterable[str]) -> list[str]:
    """Return the names of events, each once and in order. Raises Invalid for a malformed name."""
    found = sorted(set(events))
    wrong = next((name for name in found if not EVENT.fullmatch(name)), None)
    if wrong is not None:
        raise Invalid(f"{wrong!r} is not the name of an event", field="events")
    return found


def _check(name: str, url: str, kind: str, client_id: str) -> None:
    if kind not in KINDS:
        raise Invalid(f"{kind!r} is not a kind of app: use one of {', '.join(KINDS)}", field="kind")
    if not NAME.fullmatch(name):
        raise Invalid("an app's name is 1 to 100 printable characters", field="name")
    if not CLIENT_ID.fullmatch(client_id):
        raise Invalid("a client id is 8 to 20 of A-Z, a-z, 0-9, '.', '_', '-'", field="client_id")
    check_url(url, "url")


def _check_rights(
    name: str, kind: str, permissions: Mapping[str, str] | None, events: Sequence[str]
) -> None:
    """Raise Invalid if an app of this kind would ignore its permissions or events."""
    if kind != "integration" and (permissions or events):
        field = "permissions" if permissions else "events"
        raise Invalid(
            f"only an integration has permissions and events, and {name} is an OAuth app",
            field=field,
        )


def check_url(url: str, field: str) -> None:
    """Raise Invalid unless the URL is an http or https URL."""
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and parts.hostname and url.isprintable()
    except ValueError:
        good = False
    if not good or " " in url:
        raise Invalid(f"{field} must be an http or https URL", field=field, resource="OauthAccess")


def _hash(client_secret: str) -> str:
    if not CLIENT_SECRET.fullmatch(client_secret):
        raise Invalid("a client secret is 20 to 40 visible ASCII characters", field="client_secret")
    return digest(client_secret)


def check_secret(app: Row, client_secret: str) -> bool:
    return compare_digest(digest(client_secret), str(app["secret_hash"]))


def set_secret(db: Connection, app_id: int, client_secret: str) -> None:
    """Replace an application's client secret. Raises Invalid for a malformed one."""
    db.update("app", app_id, secret_hash=_hash(client_secret), updated_at=db.now)


class AppFields(TypedDict):
    """The fields of an application that its owner changes."""

    url: str
    description: str | None
    permissions: Mapping[str, str]
    events: Iterable[str]
    public: bool


def update(db: Connection, app_id: int, **fields: Unpack[AppFields]) -> None:
    """Change an application, and the most permissions its tokens may have.

    Installations get no further permissions by that: their accounts accept them first. Raises
    Invalid for bad values.
    """
    check_url(fields["url"], "url")
    app, events = get(db, app_id), checked_events(fields["events"])
    assert app is not None, "the caller has found it"
    _check_rights(app["name"], app["kind"], fields["permissions"], events)
    db.update(
        "app",
        app_id,
        url=fields["url"],
        description=fields["description"],
        permissions=_written(fields["permissions"]),
        events=json.dumps(events),
        public=int(fields["public"]),
        updated_at=db.now,
    )


def get(db: Connection, app_id: int) -> Row | None:
    """Return the application with this id, or None."""
    return _read(db.one(f"{SELECT} WHERE p.id = :id", id=app_id))


def by_client_id(db: Connection, client_id: str) -> Row | None:
    """Return the application with this client id, or None."""
    if not CLIENT_ID.fullmatch(client_id):
        return None
    return _read(db.one(f"{SELECT} WHERE p.client_id = :client_id", client_id=client_id))


def by_slug(db: Connection, slug: str) -> Row | None:
    """Return the application with this name in URLs, or None."""
    return _read(db.one(f"{SELECT} WHERE p.slug = :slug", slug=slug.lower()))


def by_name(db: Connection, name: str) -> Row | None:
    """Return the application with this name, in any case, or None."""
    return _read(db.one(f"{SELECT} WHERE p.name_key = :key", key=name.lower()))


def _read(row: Row | None) -> Row | None:
    return None if row is None else decode_row(row)


def decode_row(row: Row) -> Row:
    """Decode the columns `permissions`, `events` and `public` of a row."""
    for name in ("permissions", "events"):
        row[name] = json.loads(row[name])
    row["public"] = bool(row["public"])
    return row
