"""Bringing the store to a state document, so that doing it again changes nothing.

Nothing is taken away: who is not mentioned keeps what they have.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, TypeVar

from pydantic import SecretStr

from hub.cli import state
from hub.cli.options import account, repository
from store import Connection, Row, accounts, hooks, people, repositories, sources, tokens
from store.errors import Conflict, Invalid, StoreError

Outcome = Literal["created", "updated", "unchanged"]
T = TypeVar("T", bound=state.Part)


@dataclass(frozen=True, slots=True)
class Change:
    """What became of one part. `value` is a token's that was made up here."""

    kind: str
    name: str
    outcome: Outcome
    value: str | None = None


def apply(db: Connection, wanted: state.State) -> list[Change]:
    """Make it so, in this one transaction. A StoreError names the place in the document."""
    return [
        *_each(db, "users", wanted.users, _user),
        *_each(db, "organizations", wanted.organizations, _organization),
        *_each(db, "repositories", wanted.repositories, _repository),
        *_each(db, "tokens", wanted.tokens, _token),
        *_each(db, "sources", wanted.sources, _source),
        *_each(db, "hooks", wanted.hooks, _hook),
    ]


def _each(
    db: Connection, key: str, parts: list[T], one: Callable[[Connection, T], Change]
) -> Iterator[Change]:
    for number, part in enumerate(parts):
        with placed(f"{key}[{number}]"):
            yield one(db, part)


@contextmanager
def placed(place: str) -> Iterator[None]:
    """Put the place in the document before what is said to be wrong."""
    try:
        yield
    except StoreError as error:
        raise Invalid(f"{place}: {error}") from None


def _outcome(before: object, after: object) -> Outcome:
    return "unchanged" if before == after else "updated"


def _user(db: Connection, wanted: state.User) -> Change:
    row = accounts.by_login(db, wanted.login)
    if row is None:
        accounts.create(
            db,
            wanted.login,
            name=wanted.name,
            email=wanted.email,
            site_admin=wanted.site_admin,
            password=_secret(wanted.password),
        )
        return Change("user", wanted.login, "created")
    after = _describe(db, row, "User", wanted)
    admin = wanted.given("site_admin").get("site_admin", bool(row["site_admin"]))
    if admin != bool(row["site_admin"]):
        people.set_site_admin(db, row["id"], admin)
        return Change("user", wanted.login, "updated")
    return Change("user", wanted.login, after)


def _describe(
    db: Connection, row: Row, kind: str, wanted: state.User | state.Organization
) -> Outcome:
    if row["kind"] != kind:
        raise Conflict(f"{wanted.login!r} is known as {row['kind']}, not {kind}")
    before = {"name": row["name"], "email": row["email"]}
    after = before | wanted.given("name", "email")
    if after != before:
        accounts.update(db, row["id"], name=after["name"], email=after["email"])
    return _outcome(before, after)


def _organization(db: Connection, wanted: state.Organization) -> Change:
    row = accounts.by_login(db, wanted.login)
    outcome: Outcome = "created"
    if row is None:
        row = accounts.create(
            db, wanted.login, kind="Organization", name=wanted.name, email=wanted.email
        )
    else:
        outcome = _describe(db, row, "Organization", wanted)
    before = people.members(db, row["id"])
    for login, role in wanted.members.items():
        accounts.join(db, row["id"], account(db, login)["id"], role)
    changed = before != people.members(db, row["id"])
    return Change("organization", wanted.login, _with(outcome, changed))


def _with(outcome: Outcome, changed: bool) -> Outcome:
    return "updated" if changed and outcome == "unchanged" else outcome


def _repository(db: Connection, wanted: state.Repository) -> Change:
    owner, name = wanted.name.split("/")
    row = repositories.find(db, owner, name)
    outcome: Outcome = "created"
    if row is None:
        row = repositories.create(
            db,
            account(db, owner)["id"],
            name,
            private=wanted.private,
            description=wanted.description,
        )
    else:
        outcome = _redescribe(db, row, wanted)
    before = people.collaborators(db, row["id"])
    for login, role in wanted.collaborators.items():
        repositories.grant(db, row["id"], account(db, login)["id"], role)
    changed = before != people.collaborators(db, row["id"])
    return Change("repository", wanted.name, _with(outcome, changed))


def _redescribe(db: Connection, row: Row, wanted: state.Repository) -> Outcome:
    before = {"private": bool(row["private"]), "description": row["description"]}
    after = before | wanted.given("private", "description")
    if after != before:
        repositories.update(
            db, row["id"], private=bool(after["private"]), description=after["description"]
        )
    return _outcome(before, after)


def _token(db: Connection, wanted: state.Token) -> Change:
    owner = account(db, wanted.user)
    name = f"{wanted.user} {wanted.note or ''}".strip()
    known = _known(db, wanted)
    if known is None:
        value, _ = tokens.create(
            db,
            owner["id"],
            kind=wanted.kind,
            scopes=wanted.scopes,
            permissions=wanted.permissions,
            note=wanted.note,
            expires_at=wanted.ends(),
            value=_secret(wanted.value),
        )
        return Change("token", name, "created", None if wanted.value else value)
    if _differs(known, owner, wanted):
        raise Conflict("this token is known and was made otherwise; `tocsin token revoke` it first")
    return Change("token", name, "unchanged")


def _known(db: Connection, wanted: state.Token) -> Row | None:
    every = tokens.every(db)
    if wanted.value is not None:
        found = tokens.find(db, wanted.value.get_secret_value())
        return next((row for row in every if found is not None and row["id"] == found["id"]), None)
    mine = [row for row in every if row["login"].lower() == wanted.user.lower()]
    return next((row for row in mine if row["note"] == wanted.note), None)


def _differs(known: Row, owner: Row, wanted: state.Token) -> bool:
    return (
        known["login"],
        known["kind"],
        tuple(known["scopes"]),
        known["permissions"],
        known["expires_at"],
    ) != (
        owner["login"],
        wanted.kind,
        tokens.normalise(wanted.scopes),
        wanted.permissions,
        wanted.ends(),
    )


def _source(db: Connection, wanted: state.Source) -> Change:
    secret = wanted.secret.get_secret_value()
    owner_id = None if wanted.owner is None else account(db, wanted.owner)["id"]
    known = next((row for row in sources.secrets(db) if row["name"] == wanted.name), None)
    if known is None:
        sources.create(db, wanted.name, secret, owner_id=owner_id)
        return Change("source", wanted.name, "created")
    if "owner" in wanted.model_fields_set and known["owner_id"] != owner_id:
        raise Conflict(f"the source {wanted.name!r} has another owner; remove it first")
    if db.vault.open(known["secret"]) == secret:
        return Change("source", wanted.name, "unchanged")
    sources.set_secret(db, known["id"], secret)
    return Change("source", wanted.name, "updated")


def _hook(db: Connection, wanted: state.Hook) -> Change:
    owner, repo_name = wanted.repository.split("/")
    repo = repository(db, (owner, repo_name))
    name = f"{repo['full_name']} {wanted.url}"
    known = hooks.by_url(db, repo["id"], wanted.url)
    fields = {
        **wanted.model_dump(include={"events", "content_type", "insecure_ssl", "active"}),
        "secret": _secret(wanted.secret),
        "options": wanted.delivery.model_dump(exclude_none=True),
    }
    if known is None:
        hooks.create(db, repo["id"], url=wanted.url, **fields)
        return Change("hook", name, "created")
    before = _hook_fields(db, known)
    given = {"options" if key == "delivery" else key for key in wanted.model_fields_set}
    changes = {key: fields[key] for key in given & fields.keys() if fields[key] != before[key]}
    if changes:
        hooks.update(db, known, **changes)
    return Change("hook", name, "updated" if changes else "unchanged")


def _hook_fields(db: Connection, known: Row) -> Row:
    return {
        "events": known["events"],
        "content_type": known["content_type"],
        "insecure_ssl": bool(known["insecure_ssl"]),
        "active": bool(known["active"]),
        "secret": hooks.secret_of(db, known),
        "options": known["options"],
    }


def _secret(value: SecretStr | None) -> str | None:
    return None if value is None else value.get_secret_value()
