"""Bringing the store to a state document, so that doing it again changes nothing.

Nothing is taken away: who is not mentioned keeps what they have.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TypeVar

from hub.cli import apply_apps, apply_people, load_comments, state
from hub.cli.changes import Change, Outcome, outcome_of, placed, secret, together
from hub.cli.options import ISSUER, account, repository_named
from hub.cli.part import Part
from store import (
    Connection,
    Row,
    Store,
    accounts,
    hooks,
    one_time,
    people,
    repositories,
    sources,
    sso,
)
from store.errors import Conflict

T = TypeVar("T", bound=Part)


def hashed(store: Store, wanted: state.State) -> dict[str, str]:
    """Login to the new password's hash, where there is one: made before the transaction, which
    others would wait for.
    """
    given = {user.login: secret(user.password) for user in wanted.users}

    def stored(db: Connection) -> dict[str, str | None]:
        rows = {login: accounts.by_login(db, login) for login in given}
        return {
            login: None if row is None else accounts.stored_password(db, row["id"])
            for login, row in rows.items()
        }

    before = store.look(stored)
    return {
        login: accounts.hash_password(password)
        for login, password in given.items()
        if password is not None
        and (before[login] is None or not accounts.password_matches(password, before[login]))
    }


def apply(db: Connection, wanted: state.State, hashes: Mapping[str, str]) -> list[Change]:
    """Make it so, in this one transaction. A StoreError names the place in the document.

    `hashes` are those of the users' new passwords.
    """
    return [
        *_each(db, "users", wanted.users, partial(_user, hashes)),
        *_each(db, "organizations", wanted.organizations, _organization),
        *_each(db, "repositories", wanted.repositories, _repository),
        *_each(db, "apps", wanted.apps, apply_apps.app),
        *_each(db, "tokens", wanted.tokens, apply_apps.token),
        *_each(db, "sources", wanted.sources, _source),
        *_each(db, "hooks", wanted.hooks, _hook),
        *_each(db, "commit_comments", wanted.commit_comments, load_comments.commit_comment),
    ]


def _each(
    db: Connection, key: str, parts: list[T], one: Callable[[Connection, T], Change]
) -> Iterator[Change]:
    for number, part in enumerate(parts):
        with placed(f"{key}[{number}]"):
            yield one(db, part)


def _user(hashes: Mapping[str, str], db: Connection, wanted: state.User) -> Change:
    row = accounts.by_login(db, wanted.login)
    outcome: Outcome = "created"
    if row is None:
        row = accounts.create(
            db, wanted.login, name=wanted.name, email=wanted.email, site_admin=wanted.site_admin
        )
    else:
        outcome = _describe(db, row, "User", wanted)
        admin = wanted.given("site_admin").get("site_admin", bool(row["site_admin"]))
        if admin != bool(row["site_admin"]):
            people.set_site_admin(db, row["id"], admin)
            outcome = "updated"
    changed = apply_people.emails_of(db, row["id"], wanted.emails)
    changed = _log_in(hashes, db, row, wanted) or changed
    return Change("user", wanted.login, together(outcome, changed))


def _log_in(hashes: Mapping[str, str], db: Connection, row: Row, wanted: state.User) -> bool:
    """Set what the user logs in with; whether that changes anything."""
    if wanted.login in hashes:
        accounts.set_password(db, row["id"], hashes[wanted.login])
    shared = secret(wanted.one_time_secret)
    if shared is None or one_time.uses(db, row["id"], shared):
        return wanted.login in hashes
    one_time.set_up(db, row["id"], login=row["login"], issuer=ISSUER, secret=shared)
    return True


def _describe(
    db: Connection, row: Row, kind: str, wanted: state.User | state.Organization
) -> Outcome:
    if row["kind"] != kind:
        raise Conflict(f"{wanted.login!r} is known as {row['kind']}, not {kind}")
    before = {"name": row["name"], "email": row["email"]}
    after = before | wanted.given("name", "email")
    if after != before:
        accounts.update(db, row["id"], name=after["name"], email=after["email"])
    return outcome_of(before, after)


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
    if "sso" in wanted.model_fields_set and wanted.sso != sso.enforced(db, row["id"]):
        sso.enforce(db, row["id"], wanted.sso)
        changed = True
    return Change("organization", wanted.login, together(outcome, changed))


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
    changed = apply_people.around(db, row, wanted) or changed
    return Change("repository", wanted.name, together(outcome, changed))


def _redescribe(db: Connection, row: Row, wanted: state.Repository) -> Outcome:
    before = {"private": bool(row["private"]), "description": row["description"]}
    after = before | wanted.given("private", "description")
    if after != before:
        repositories.update(
            db, row["id"], private=bool(after["private"]), description=after["description"]
        )
    return outcome_of(before, after)


def _source(db: Connection, wanted: state.Source) -> Change:
    given = wanted.secret.get_secret_value()
    owner_id = None if wanted.owner is None else account(db, wanted.owner)["id"]
    known = next((row for row in sources.secrets(db) if row["name"] == wanted.name), None)
    if known is None:
        sources.create(db, wanted.name, given, owner_id=owner_id)
        return Change("source", wanted.name, "created")
    if "owner" in wanted.model_fields_set and known["owner_id"] != owner_id:
        raise Conflict(f"the source {wanted.name!r} has another owner; remove it first")
    if db.vault.open(known["secret"]) == given:
        return Change("source", wanted.name, "unchanged")
    sources.set_secret(db, known["id"], given)
    return Change("source", wanted.name, "updated")


def _hook(db: Connection, wanted: state.Hook) -> Change:
    repo = repository_named(db, wanted.repository)
    name = f"{repo['full_name']} {wanted.url}"
    known = hooks.by_url(db, repo["id"], wanted.url)
    fields = {
        **wanted.model_dump(include={"events", "content_type", "insecure_ssl", "active"}),
        "secret": secret(wanted.secret),
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
