"""Accounts: users and organizations, and the members of organizations."""

import os
import re
from collections.abc import Iterable, Mapping
from functools import cache, partial
from threading import Lock

from cryptography.exceptions import InvalidKey
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

from store.accounts import emails
from store.database import row_lookup, upsert
from store.database.connection import Connection, Row, json_array, prefixed
from store.database.paging import ListedRows
from store.errors import Conflict, Invalid

LOGIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,98}[A-Za-z0-9])?")
# RFC 9106's second recommended parameters.
HASHING = partial(Argon2id, length=32, iterations=3, lanes=4, memory_cost=64 * 1024)
# Two derivations share OpenSSL's threads: they can fail, or wait for each other forever.
_DERIVING = Lock()
COLUMNS = "id, login, kind, name, email, site_admin, description, heard_of, created_at, updated_at"
OF_JOINED = prefixed("a", COLUMNS)
"""The same columns of an account `a` that a query joins."""


def create(
    db: Connection,
    login: str,
    *,
    kind: str = "User",
    name: str | None = None,
    email: str | None = None,
    site_admin: bool = False,
    password: str | None = None,
) -> Row:
    """Create a User or an Organization. Raises Invalid for a bad login, Conflict if it exists.

    If the login belongs to a placeholder made from events, the placeholder becomes this account.
    Its further fields and everything that refers to it stay.
    """
    if not LOGIN.fullmatch(login):
        raise Invalid(
            f"{login!r} is not a valid login: use 1 to 100 letters, digits, '-', '_' or '.', "
            "beginning and ending with a letter or digit",
            field="login",
            resource="User",
        )
    row = db.one(
        "INSERT INTO account (login, login_key, kind, name, email, site_admin, password_hash,"
        " created_at, updated_at) VALUES (:login, :key, :kind, :name, :email, :site_admin,"
        " :password_hash, :now, :now) ON CONFLICT (login_key) DO UPDATE SET"
        " login = excluded.login, kind = excluded.kind, name = excluded.name,"
        " email = excluded.email, site_admin = excluded.site_admin, heard_of = 0,"
        " password_hash = excluded.password_hash, updated_at = excluded.updated_at"
        f" WHERE account.heard_of = 1 RETURNING {COLUMNS}",
        login=login,
        key=login.lower(),
        kind=kind,
        name=name,
        email=email,
        site_admin=int(site_admin),
        password_hash=None if password is None else hash_password(password),
    )
    if row is None:
        raise Conflict(f"there is an account {login!r} already")
    if email and kind == "User":
        emails.add_if_missing(db, row["id"], email)
    return row


def update(db: Connection, account_id: int, *, name: str | None, email: str | None) -> None:
    """Change an account's name and email. A user's email is added to the user's addresses."""
    db.execute(
        "UPDATE account SET name = :name, email = :email, updated_at = :now WHERE id = :id"
        " AND (coalesce(name, '') <> :name_key OR coalesce(email, '') <> :email_key)",
        name=name,
        email=email,
        name_key=name or "",
        email_key=email or "",
        id=account_id,
    )
    if email and db.value("SELECT kind FROM account WHERE id = :id", id=account_id) == "User":
        emails.add_if_missing(db, account_id, email)


def describe(db: Connection, account_id: int, description: str | None) -> bool:
    """Set an organization's description. Return whether that changes anything."""
    changed = db.execute(
        "UPDATE account SET description = :description, updated_at = :now WHERE id = :id"
        " AND coalesce(description, '') <> :key",
        description=description,
        key=description or "",
        id=account_id,
    )
    return changed > 0


def by_login(db: Connection, login: str) -> Row | None:
    """Return the account with this login, in any case, or None."""
    return db.one(f"SELECT {COLUMNS} FROM account WHERE login_key = :key", key=login.lower())


def get(db: Connection, account_id: int) -> Row | None:
    """Return the account with this id, or None."""
    return db.one(f"SELECT {COLUMNS} FROM account WHERE id = :id", id=account_id)


def required(db: Connection, account_id: int) -> Row:
    """Return an account that another row refers to, so that it exists."""
    account = get(db, account_id)
    assert account is not None, f"account {account_id} is referred to"
    return account


def of(db: Connection, account_ids: Iterable[int]) -> dict[int, Row]:
    """Return the accounts with these ids, by id. Unknown ids are left out."""
    return row_lookup.by_id(db, f"SELECT {COLUMNS} FROM account WHERE id", account_ids)


def users_by_login(db: Connection, logins: Iterable[str]) -> dict[str, Row]:
    """Return the users with these logins, by lower-case login. Unknown ones are left out."""
    found = by_logins(db, logins)
    return {login: row for login, row in found.items() if row["kind"] == "User"}


def by_logins(db: Connection, logins: Iterable[str]) -> dict[str, Row]:
    """Return the accounts of any kind with these logins, by lower-case login."""
    rows = db.all(
        f"SELECT {OF_JOINED} FROM {db.each('keys', wanted='text')} AS k"
        " JOIN account a ON a.login_key = k.wanted",
        keys=json_array({login.lower() for login in logins}),
    )
    return {row["login"].lower(): row for row in rows}


def by_login_among(listed: str, within: str = "1 = 1") -> ListedRows:
    """Return, for a page, the accounts in a list that meet a condition, by login.

    `listed` is SQL that selects ids of accounts as `id`.
    """
    return ListedRows("account", "a", "a.login_key", "a.id", listed, within)


def list_all(db: Connection) -> list[Row]:
    """Return every account, by login."""
    return db.all(f"SELECT {COLUMNS} FROM account ORDER BY login_key")


def join(db: Connection, organization_id: int, account_id: int, role: str) -> None:
    """Make an account an `admin` or `member` of an organization. Raises Invalid for other roles.

    Raises Conflict if the last administrator would become a member.
    """
    if role not in ("admin", "member"):
        raise Invalid(
            f"{role!r} is not a role in an organization: use admin or member", field="role"
        )
    if role == "member":
        keep_administrator(db, account_id, organization_id)
    given = {"organization_id": organization_id, "account_id": account_id, "role": role}
    made = db.execute(
        "INSERT INTO membership (organization_id, account_id, role)"
        " VALUES (:organization_id, :account_id, :role)"
        " ON CONFLICT (organization_id, account_id) DO NOTHING",
        **given,
    )
    if made:
        count_memberships(db, {(account_id, 0): 1})
        return
    db.execute(
        "UPDATE membership SET role = :role"
        " WHERE organization_id = :organization_id AND account_id = :account_id",
        **given,
    )


def count_memberships(db: Connection, changes: Mapping[tuple[int, int], int]) -> None:
    """Add to the stored numbers of accounts' memberships. The keys are accounts and `public`."""
    upsert.count_at_commit(db, "membership_tally", "account_id, public", "memberships", changes)


def keep_administrator(db: Connection, account_id: int, organization_id: int | None = None) -> None:
    """Raise Conflict if an account is the last administrator of an organization.

    All organizations count, or the one with `organization_id`.
    """
    alone = db.one(
        "SELECT a.login, o.login AS organization FROM membership m"
        " JOIN account a ON a.id = m.account_id JOIN account o ON o.id = m.organization_id"
        " WHERE m.account_id = :id AND m.role = 'admin'"
        " AND m.organization_id = COALESCE(:organization_id, m.organization_id)"
        " AND NOT EXISTS (SELECT 1 FROM membership x"
        " WHERE x.organization_id = m.organization_id AND x.role = 'admin'"
        " AND x.account_id <> :id) ORDER BY o.login_key LIMIT 1",
        id=account_id,
        organization_id=organization_id,
    )
    if alone is not None:
        group = alone["organization"]
        raise Conflict(
            f"{alone['login']} is the last administrator of {group}: make another member one"
            f" first, with `tocsin org join {group} LOGIN --role admin`, or remove {group}"
        )


def set_site_admin(db: Connection, account_id: int, site_admin: bool) -> None:
    """Set whether an account may do everything everywhere.

    Raises Conflict if nobody could do so any more.
    """
    if not site_admin:
        keep_site_administrator(db, account_id)
    db.update("account", account_id, site_admin=int(site_admin), updated_at=db.now)


def keep_site_administrator(db: Connection, account_id: int) -> None:
    """Raise Conflict if an account is the last administrator of the site."""
    # Without the lock, two transactions could each count on the other's administrator.
    db.alone("site administrators")
    administrators = db.tuples(
        "SELECT id, login FROM account WHERE site_admin = 1 ORDER BY id LIMIT 2"
    )
    if [number for number, _ in administrators] == [account_id]:
        raise Conflict(
            f"{administrators[0][1]} is the last site administrator: make another user one first,"
            " with `tocsin user edit LOGIN --site-admin`"
        )


def organization_role(db: Connection, organization_id: int, account_id: int) -> str | None:
    """Return the account's role in an organization: `admin`, `member`, or None without one."""
    role: str | None = db.find_value(
        "SELECT role FROM membership", organization_id=organization_id, account_id=account_id
    )
    return role


def hash_password(password: str) -> str:
    """Hash a password with Argon2id in PHC form."""
    with _DERIVING:
        return HASHING(salt=os.urandom(16)).derive_phc_encoded(password.encode())


def stored_password(db: Connection, account_id: int) -> str | None:
    """Return an account's password hash for `password_matches`.

    That takes a tenth of a second, so call it outside the transaction.
    """
    stored: str | None = db.value("SELECT password_hash FROM account WHERE id = :id", id=account_id)
    return stored


def password_matches(password: str, stored: str | None) -> bool:
    """Return whether the password matches the hash.

    Without a hash it takes as long, so that the time does not show which accounts have a password.
    """
    expected = stored or _decoy()
    try:
        with _DERIVING:
            Argon2id.verify_phc_encoded(password.encode(), expected)
    except InvalidKey:
        return False
    return stored is not None


@cache
def _decoy() -> str:
    return hash_password(os.urandom(16).hex())


def check_password(db: Connection, account_id: int, password: str) -> bool:
    """Return whether this is the account's password. Without a password, return False."""
    return password_matches(password, stored_password(db, account_id))


def set_password(db: Connection, account_id: int, hashed: str | None) -> None:
    """Replace an account's password hash (see `hash_password`). None removes the password."""
    db.update("account", account_id, password_hash=hashed, updated_at=db.now)
