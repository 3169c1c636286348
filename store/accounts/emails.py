"""The email addresses of accounts: one is the primary, and each belongs to one account only."""

from collections.abc import Collection, Iterable

from store.accounts import email_address
from store.database import paging, upsert
from store.database.connection import Connection, Row, json_array
from store.errors import Invalid, Missing, existing

COLUMNS = "id, account_id, email, is_primary, verified, visibility, created_at"
MOST = 100
"""The limit of addresses of an account."""


def normalized(address: str) -> str:
    """Normalize an address: its domain in lower case. Raises Invalid if it is not an address."""
    try:
        return email_address.normalize(address)
    except ValueError as error:
        raise _invalid(f"this is no email address: {error}", "invalid") from None


def _key(address: str) -> str:
    """Return the key that all spellings of an address share."""
    try:
        return normalized(address).lower()
    except Invalid:
        return address.lower()


def _alone(db: Connection, account_id: int) -> None:
    # Which address is the primary, or the last verified one, depends on all of them.
    db.alone(f"emails of {account_id}")


def _invalid(message: str, code: str) -> Invalid:
    return Invalid(message, field="emails", code=code, resource="Email")


def page(
    db: Connection, account_id: int, *, limit: int, offset: int, public: bool = False
) -> list[Row]:
    """Return a page of the account's addresses, or of its public ones, the primary first."""
    return paging.page(
        db,
        f"SELECT {COLUMNS} FROM email WHERE account_id = :account_id{_only(public)}"
        " ORDER BY is_primary DESC, id",
        limit,
        offset,
        account_id=account_id,
    )


def count(db: Connection, account_id: int, *, public: bool = False) -> int:
    """Return how many addresses `page` can return."""
    return db.number(
        f"SELECT count(*) FROM email WHERE account_id = :account_id{_only(public)}",
        account_id=account_id,
    )


def _only(public: bool) -> str:
    return " AND visibility = 'public'" if public else ""


def primary(db: Connection, account_id: int) -> Row | None:
    """Return the account's primary address, or None."""
    return db.one(
        f"SELECT {COLUMNS} FROM email WHERE account_id = :account_id AND is_primary = 1",
        account_id=account_id,
    )


def add(
    db: Connection, account_id: int, addresses: Iterable[str], *, verified: bool = False
) -> list[Row]:
    """Add addresses to an account. Its first address becomes its primary, and private.

    Raises Invalid, and adds none, if one is not an address or is in use already.
    """
    wanted = {one.lower(): one for one in map(normalized, addresses)}
    _alone(db, account_id)
    has = count(db, account_id)
    if has + len(wanted) > MOST:
        raise _invalid(f"an account has at most {MOST} email addresses", "unprocessable")
    return [
        _insert(db, account_id, key, address, is_primary=not has and not place, verified=verified)
        for place, (key, address) in enumerate(wanted.items())
    ]


def _insert(
    db: Connection, account_id: int, key: str, address: str, *, is_primary: bool, verified: bool
) -> Row:
    row = db.one(
        "INSERT INTO email (account_id, email, email_key, is_primary, verified, visibility,"
        " created_at) VALUES (:account_id, :email, :key, :is_primary, :verified, :visibility, :now)"
        f" ON CONFLICT (email_key) DO NOTHING RETURNING {COLUMNS}",
        account_id=account_id,
        email=address,
        key=key,
        is_primary=int(is_primary),
        verified=int(verified),
        visibility="private" if is_primary else None,
    )
    if row is None:
        raise _invalid("this email address is already in use", "already_exists")
    return row


def of(db: Connection, account_id: int, addresses: Iterable[str]) -> list[Row]:
    """Return the account's addresses among these."""
    return _of(db, account_id, {_key(address) for address in addresses})


def _of(db: Connection, account_id: int, keys: Collection[str]) -> list[Row]:
    return db.all(
        f"SELECT {COLUMNS} FROM {db.each('keys', wanted='text')} AS k"
        " JOIN email ON email_key = k.wanted WHERE account_id = :account_id ORDER BY id",
        keys=json_array(keys),
        account_id=account_id,
    )


def verified_owner(db: Connection, address: str) -> int | None:
    """Return the id of the account that has verified this address, or None."""
    return db.optional_number(
        "SELECT account_id FROM email WHERE email_key = :key AND verified = 1", key=_key(address)
    )


def remove(db: Connection, account_id: int, addresses: Iterable[str]) -> list[Row]:
    """Remove addresses from an account. Return them.

    If the account does not have all of them, raise Missing and remove none. If a verified primary
    or the last verified address is among them, raise Invalid. If an unverified primary is removed,
    the first verified address becomes the primary, or else the first one.
    """
    _alone(db, account_id)
    keys = {_key(address) for address in addresses}
    going = _of(db, account_id, keys)
    if len(going) < len(keys):
        raise Missing("email")
    if any(row["is_primary"] and row["verified"] for row in going):
        raise _invalid("the primary email address cannot be removed", "custom")
    verified = sum(row["verified"] for row in going)
    if verified and verified == _verified(db, account_id):
        raise _invalid("the last verified email address cannot be removed", "custom")
    db.delete_many("email", "id", (row["id"] for row in going))
    if any(row["is_primary"] for row in going):
        _choose_primary(db, account_id)
    return going


def _choose_primary(db: Connection, account_id: int) -> None:
    """Make the account's first address, a verified one if it has any, its primary, and private."""
    db.execute(
        "UPDATE email SET is_primary = 1, visibility = 'private' WHERE id = (SELECT e.id"
        " FROM email e WHERE e.account_id = :account_id ORDER BY e.verified DESC, e.id LIMIT 1)",
        account_id=account_id,
    )


def _verified(db: Connection, account_id: int) -> int:
    return db.number(
        "SELECT count(*) FROM email WHERE account_id = :account_id AND verified = 1",
        account_id=account_id,
    )


def set_visibility(db: Connection, account_id: int, visibility: str) -> tuple[Row, bool]:
    """Make the primary address `public` or `private`. Return it, and whether that changes it.

    Raises Missing if there is none.
    """
    _alone(db, account_id)
    before = existing(primary(db, account_id), "email")
    after = {**before, "visibility": visibility}
    return after, upsert.update(db, "email", before, after)


def add_if_missing(db: Connection, account_id: int, address: str) -> bool:
    """Add a verified address. Return False if the account has it already. Raises as `add` does."""
    known = of(db, account_id, [address])
    if not known:
        add(db, account_id, [address], verified=True)
        return True
    if not known[0]["verified"]:
        verify(db, known[0]["id"])
        return True
    return False


def verify(db: Connection, email_id: int, verified: bool = True) -> None:
    """Record whether an address was verified to belong to its account."""
    db.update("email", email_id, verified=int(verified))


def make_primary(db: Connection, row: Row) -> None:
    """Make this address the account's primary. It gets the former primary's visibility."""
    before = primary(db, row["account_id"])
    if before is None or before["id"] == row["id"]:
        return
    db.update("email", before["id"], is_primary=0, visibility=None)
    db.update("email", row["id"], is_primary=1, visibility=before["visibility"])
