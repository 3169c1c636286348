"""The application of users, their email addresses, and organizations."""

from collections.abc import Mapping, Sequence

from hub.cli.console.options import ISSUER, account
from hub.cli.state import ages, parts
from hub.cli.state.changes import Outcome, StateChange, combined, outcome_of, secret
from store import Connection, Row
from store.accounts import accounts, emails, sso, totp
from store.assistant import membership_seats
from store.errors import Conflict, Invalid
from store.repositories import membership_dump


def user(hashes: Mapping[str, str], db: Connection, wanted: parts.UserEntry) -> StateChange:
    """Create or update a user. `hashes` are the new passwords' hashes by login."""
    row = accounts.by_login(db, wanted.login)
    outcome: Outcome = "created"
    if row is None or row["heard_of"]:
        row = accounts.create(
            db, wanted.login, name=wanted.name, email=wanted.email, site_admin=wanted.site_admin
        )
    else:
        outcome = _describe(db, row, "User", wanted)
        admin = wanted.given("site_admin").get("site_admin", bool(row["site_admin"]))
        if admin != bool(row["site_admin"]):
            membership_dump.set_site_admin(db, row["id"], admin)
            outcome = "updated"
    changed = emails_of(db, row["id"], wanted.emails)
    changed = _log_in(hashes, db, row, wanted) or changed
    changed = ages.give(db, "account", row, wanted.created_at) or changed
    return StateChange("user", wanted.login, combined(outcome, changed))


def _log_in(hashes: Mapping[str, str], db: Connection, row: Row, wanted: parts.UserEntry) -> bool:
    """Set a user's password and one-time passwords. Return whether that changes anything."""
    if wanted.login in hashes:
        accounts.set_password(db, row["id"], hashes[wanted.login])
    shared = secret(wanted.one_time_secret)
    if shared is None or totp.is_set_up(db, row["id"], shared):
        return wanted.login in hashes
    totp.set_up(db, row["id"], login=row["login"], issuer=ISSUER, secret=shared)
    return True


def _describe(
    db: Connection, row: Row, kind: str, wanted: parts.UserEntry | parts.OrganizationEntry
) -> Outcome:
    if row["kind"] != kind:
        raise Conflict(f"{wanted.login!r} is known as {row['kind']}, not {kind}")
    before = {"name": row["name"], "email": row["email"]}
    after = before | wanted.given("name", "email")
    if after != before:
        accounts.update(db, row["id"], name=after["name"], email=after["email"])
    return outcome_of(before, after)


def organization(db: Connection, wanted: parts.OrganizationEntry) -> StateChange:
    """Create or update an organization and its members."""
    row = accounts.by_login(db, wanted.login)
    outcome: Outcome = "created"
    if row is None or row["heard_of"]:
        row = accounts.create(
            db, wanted.login, kind="Organization", name=wanted.name, email=wanted.email
        )
    else:
        outcome = _describe(db, row, "Organization", wanted)
    before = membership_dump.members(db, row["id"])
    for login, role in wanted.members.items():
        membership_seats.join(db, row["id"], account(db, login)["id"], role)
    changed = before != membership_dump.members(db, row["id"])
    if "description" in wanted.model_fields_set:
        changed = accounts.describe(db, row["id"], wanted.description) or changed
    if "sso" in wanted.model_fields_set and wanted.sso != sso.enforced(db, row["id"]):
        sso.enforce(db, row["id"], wanted.sso)
        changed = True
    changed = ages.give(db, "account", row, wanted.created_at) or changed
    return StateChange("organization", wanted.login, combined(outcome, changed))


def emails_of(db: Connection, account_id: int, wanted: Sequence[parts.AddressEntry]) -> bool:
    """Set a user's email addresses. Return whether that changes anything."""
    before = _addresses(db, account_id)
    for each in wanted:
        _email(db, account_id, each)
    for each in wanted:
        if each.visibility is not None:
            _show(db, account_id, each)
    return before != _addresses(db, account_id)


def _addresses(db: Connection, account_id: int) -> list[Row]:
    return emails.page(db, account_id, limit=emails.MOST, offset=0)


def _email(db: Connection, account_id: int, wanted: parts.AddressEntry) -> None:
    known = emails.of(db, account_id, [wanted.email])
    if not known:
        known = emails.add(db, account_id, [wanted.email], verified=wanted.verified)
    elif "verified" in wanted.model_fields_set:
        emails.verify(db, known[0]["id"], wanted.verified)
    if wanted.primary:
        emails.make_primary(db, known[0])


def _show(db: Connection, account_id: int, wanted: parts.AddressEntry) -> None:
    (row,) = emails.of(db, account_id, [wanted.email])
    if not row["is_primary"]:
        raise Invalid(f"{wanted.email!r} has no visibility: it is not the primary address")
    emails.set_visibility(db, account_id, str(wanted.visibility))
