"""Links between users and subjects: a person whom a provider knows (OpenID Connect Core, 5.7).

A provider never gives a subject to another person, as it may do with a name or an address. So a
link decides who somebody is, and a name only counts for the first sign-in. A user has one subject
of each issuer.
"""

from store.accounts import sessions
from store.database.connection import Connection, Row
from store.database.list_order import Matches
from store.database.newest_rows import NewestRows
from store.database.patterns import containing, containing_plain
from store.database.time_range import ALWAYS, TimeRange
from store.errors import Conflict, Invalid

FROM = "FROM openid_link l JOIN account a ON a.id = l.account_id"
SELECT = f"SELECT l.id, a.login, l.account_id, l.issuer, l.subject, l.created_at, l.used_at {FROM}"
MOST_SUBJECT = 255
"""The limit of characters of a subject (OpenID Connect Core, 2)."""


def alone(db: Connection, issuer: str) -> None:
    """Lock the links of an issuer until the transaction ends.

    Without the lock, two transactions that read first could both find no link.
    """
    db.alone(f"openid links of {issuer}")


def of_subject(db: Connection, issuer: str, subject: str) -> Row | None:
    """Return the link of a subject, with the user's `login`, or None. The case counts."""
    return db.one(
        f"{SELECT} WHERE l.issuer = :issuer AND l.subject = :subject",
        issuer=issuer,
        subject=subject,
    )


def of_user(db: Connection, account_id: int, issuer: str) -> Row | None:
    """Return the link of a user to a subject of an issuer, or None."""
    return db.one(
        f"{SELECT} WHERE l.account_id = :account_id AND l.issuer = :issuer",
        account_id=account_id,
        issuer=issuer,
    )


def get(db: Connection, link_id: int) -> Row | None:
    """Return the link with this id, or None."""
    return db.one(f"{SELECT} WHERE l.id = :id", id=link_id)


def is_subject(text: object) -> bool:
    """Return whether a provider may give a person this subject."""
    return isinstance(text, str) and text.isprintable() and 0 < len(text) <= MOST_SUBJECT


def add(
    db: Connection, account_id: int, issuer: str, subject: str, used_at: int | None = None
) -> int:
    """Link a user to a subject, where neither has a link. Return the link's id.

    `used_at` is when the person signed in by it, in microseconds. The caller holds the lock
    `alone`.
    """
    return db.number(
        "INSERT INTO openid_link (account_id, issuer, subject, created_at, used_at)"
        " VALUES (:account_id, :issuer, :subject, :now, :used_at) RETURNING id",
        account_id=account_id,
        issuer=issuer,
        subject=subject,
        used_at=used_at,
    )


def link(db: Connection, user: Row, issuer: str, subject: str) -> int:
    """Link a user to a subject before the person signs in. Return the link's id.

    Raises Invalid if no provider gives this subject, and Conflict if the subject or the user has a
    link.
    """
    # Spaces around it were pasted with it. The link would look right, and nobody could use it.
    if not is_subject(subject) or subject != subject.strip():
        raise Invalid(
            f"a subject has 1 to {MOST_SUBJECT} characters, no control characters, and no spaces"
            " around it",
            field="subject",
        )
    alone(db, issuer)
    if (held := of_subject(db, issuer, subject)) is not None:
        raise Conflict(
            f"link {held['id']} leads from this subject to {held['login']}: remove it first"
        )
    if (other := of_user(db, user["id"], issuer)) is not None:
        raise Conflict(
            f"link {other['id']} leads from another subject to {user['login']}: remove it first"
        )
    return add(db, user["id"], issuer, subject)


def use(db: Connection, link: Row) -> bool:
    """Record a sign-in by a link. Return False if it was removed after it was read."""
    return db.update("openid_link", link["id"], used_at=db.now) > 0


def remove(db: Connection, link: Row) -> int:
    """Delete a link, and end the user's sessions that a provider opened. Return their number.

    Another person may have opened them: that is why somebody removes a link.
    """
    db.delete("openid_link", id=link["id"])
    return sessions.end_openid(db, link["account_id"])


def every(db: Connection, account_id: int | None = None) -> list[Row]:
    """Return the links of all users, or of one, by login and issuer."""
    where = "" if account_id is None else " WHERE l.account_id = :account_id"
    given = {} if account_id is None else {"account_id": account_id}
    return db.all(f"{SELECT}{where} ORDER BY a.login_key, l.issuer", **given)


def page(
    db: Connection,
    *,
    limit: int,
    before: int | None = None,
    text: str = "",
    times: TimeRange = ALWAYS,
) -> list[Row]:
    """Return the newest links whose login, issuer or subject contains a text.

    `before` is an id, and `times` limits when they were made.
    """
    return _rows(db, text, times, before).page(SELECT, limit)


def count(db: Connection, text: str, times: TimeRange) -> Matches:
    """Return the number of links that `page` lists."""
    return _rows(db, text, times).count(FROM)


def _rows(db: Connection, text: str, times: TimeRange, before: int | None = None) -> NewestRows:
    found = NewestRows(db, "openid_link", times, before, alias="l")
    if not text:
        return found
    plain = " OR ".join(f"lower(l.{name}) LIKE :plain ESCAPE '!'" for name in ("issuer", "subject"))
    return found.meeting(
        f"(a.login_key LIKE :text ESCAPE '!' OR {plain})",
        text=containing(text),
        plain=containing_plain(text),
    )
