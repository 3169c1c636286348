"""Sessions of the dashboard: the credential that opened each, and its end.

Only a digest of the cookie's value is stored. If its credential ends, the session ends with it.
A sign-in with a provider makes a token for its session alone, so that the session has the same
rights as one that a user's own token has opened. Nobody learns the value of this token.
"""

import secrets
from dataclasses import dataclass
from typing import Literal

from store.accounts import tokens
from store.accounts.tokens import digest
from store.clock import SECOND
from store.database.connection import Connection, Row

LONGEST = 7 * 24 * 3600 * SECOND
TOLERANCE = 3600 * SECOND
# A session that ends later than any can, or was last used later than now, has ended: it was opened
# or used while the clock was fast. The last use of a clock that was corrected by a little counts.
RUNNING = (
    "{0}expires_at > :now AND {0}expires_at <= :now + :longest AND {0}seen_at <= :now + :tolerance"
)
MOMENTS = {"longest": LONGEST + TOLERANCE, "tolerance": TOLERANCE}
# The use of a session is recorded at most this often, and not with every page. It is recorded more
# often if the session ends soon without use.
NOTED = 300 * SECOND
TIMES_NOTED = 10

# The length of the id that lists show: the beginning of the digest.
SHOWN = 16
MOST_BROWSER = 200
MOST = 100
"""The limit of sessions of a token, also the administrators', of a link, and of a user's sign-ins
with a provider.

Beyond it, the session that was unused longest ends.
"""
# SQL for the owner of a session: a user, or everybody with the administrators' token.
OF_USER = "token_id IN (SELECT t.id FROM token t WHERE t.account_id = :owner)"
OF_ADMINISTRATORS = "operator = :owner"

SignInMethod = Literal["token", "openid", "administrator", "link"]


@dataclass(frozen=True, slots=True)
class SignInOrigin:
    """How a session begins: by which method, from which address, and in which browser."""

    method: SignInMethod = "token"
    address: str | None = None
    browser: str | None = None


BY_TOKEN = SignInOrigin()


def begin(
    db: Connection,
    *,
    token_id: int | None = None,
    operator: str | None = None,
    link_id: int | None = None,
    until: int | None = None,
    origin: SignInOrigin = BY_TOKEN,
) -> str:
    """Open a session with one credential. Return the value for the cookie.

    The session ends after seven days, or earlier at `until` (microseconds).
    """
    credentials = {"token_id": token_id, "operator": operator, "link_id": link_id}
    for column, credential in credentials.items():
        if credential is not None:
            _make_room(db, f"{column} = :credential", credential=credential)
    value = secrets.token_urlsafe(32)
    longest = db.now + LONGEST
    db.execute(
        "INSERT INTO ui_session (id, token_id, token_hash, operator, link_id, method, address,"
        " browser, created_at, seen_at, expires_at)"
        " VALUES (:id, :token_id, (SELECT hash FROM token WHERE id = :token_id), :operator,"
        " :link_id, :method, :address, :browser, :now, :now, :expires_at)",
        id=digest(value),
        token_id=token_id,
        operator=operator,
        link_id=link_id,
        method=origin.method,
        address=origin.address,
        browser=None if origin.browser is None else origin.browser[:MOST_BROWSER],
        expires_at=longest if until is None else min(until, longest),
    )
    return value


def _make_room(db: Connection, where: str, **given: int | str) -> None:
    """End the sessions that one more would make too many."""
    kept = f"SELECT id FROM ui_session WHERE {where} ORDER BY seen_at DESC, id LIMIT {MOST - 1}"
    _end(db, f"{where} AND id NOT IN ({kept})", **given)


def begin_openid(db: Connection, account_id: int, origin: SignInOrigin) -> str:
    """Open a session for a user whom a provider names. Return the value for the cookie."""
    _make_room(db, f"method = 'openid' AND {OF_USER}", owner=account_id)
    _, token = tokens.create(
        db,
        account_id,
        scopes=tokens.WHOLE,
        note="dashboard, by OpenID Connect",
        expires_at=db.now + LONGEST,
    )
    return begin(db, token_id=token["id"], origin=origin)


def find(db: Connection, value: str, idle: int) -> Row | None:
    """Return the session of this cookie, or None.

    It has the `token` as `tokens.find` returns it, and the `hook_id` if a link opened it. It is
    `stale` if `touch` must record its use. Return None if it has ended or was not used for `idle`
    microseconds.
    """
    row = db.one(
        "SELECT s.token_id, s.operator, s.link_id, s.method, s.seen_at, l.hook_id, t.hash"
        " FROM ui_session s LEFT JOIN token t ON t.id = s.token_id AND t.hash = s.token_hash"
        " LEFT JOIN hook_link l ON l.id = s.link_id AND l.expires_at > :now"
        f" WHERE s.id = :id AND {RUNNING.format('s.')} AND s.seen_at > :since",
        id=digest(value),
        **MOMENTS,
        since=db.now - idle,
    )
    if row is None or (row["link_id"] is not None and row["hook_id"] is None):
        return None
    row["stale"] = db.now - row.pop("seen_at") > min(NOTED, idle // TIMES_NOTED)
    hashed = row.pop("hash")
    row["token"] = None if hashed is None else tokens.by_hash(db, hashed)
    return None if row["token_id"] is not None and row["token"] is None else row


def touch(db: Connection, value: str) -> None:
    """Record that a session was used."""
    db.update("ui_session", digest(value), seen_at=db.now)


def end(db: Connection, value: str) -> bool:
    """End a session. Return False if there is none."""
    return end_of(db, digest(value))


def end_of(db: Connection, hashed: str) -> bool:
    """End the session of the cookie with this digest. Return False if there is none."""
    return _end(db, "id = :id", id=hashed) > 0


def owned(db: Connection, owner: int | str, idle: int) -> list[Row]:
    """Return the sessions of a user (their id) or of the administrators (their mark).

    Sessions that were not used for `idle` microseconds have ended, and are left out. The last used
    one comes first. The rows have `shown_id`, `method`, `address`, `browser`, `created_at`,
    `seen_at` and `expires_at`.
    """
    return db.all(
        f"SELECT substr(id, 1, {SHOWN}) AS shown_id, method, address, browser, created_at, seen_at,"
        f" expires_at FROM ui_session WHERE {_owned(owner)} AND {RUNNING.format('')}"
        " AND seen_at > :since ORDER BY seen_at DESC, id LIMIT 100",
        owner=owner,
        **MOMENTS,
        since=db.now - idle,
    )


def operator_of(db: Connection, value: str) -> str:
    """Return the mark of the administrators' token that opened a session; empty if none did."""
    return db.value("SELECT operator FROM ui_session WHERE id = :id", id=digest(value)) or ""


def end_owned(db: Connection, owner: int | str, shown_id: str) -> bool:
    """End one of an owner's sessions. Return False if there is none with this id."""
    where = f"{_owned(owner)} AND substr(id, 1, {SHOWN}) = :shown_id"
    return _end(db, where, owner=owner, shown_id=shown_id) > 0


def end_others(db: Connection, owner: int | str, value: str) -> int:
    """End all of an owner's sessions but this one. Return how many."""
    return _end(db, f"{_owned(owner)} AND id <> :id", owner=owner, id=digest(value))


def end_openid(db: Connection, account_id: int) -> int:
    """End the sessions that a provider opened for a user. Return how many."""
    return _end(db, f"method = 'openid' AND {OF_USER}", owner=account_id)


def _owned(owner: int | str) -> str:
    return OF_USER if isinstance(owner, int) else OF_ADMINISTRATORS


def _end(db: Connection, where: str, **given: int | str) -> int:
    """End sessions. The token that a provider's sign-in made for a session goes with it."""
    found = db.all(f"SELECT id, token_id, method FROM ui_session WHERE {where}", **given)
    for row in found:
        if row["method"] == "openid":
            db.delete("token", id=row["token_id"])
        db.delete("ui_session", id=row["id"])
    return len(found)


def forget(db: Connection) -> None:
    """Delete sessions that have ended."""
    # The token of an expired session has expired too, and the one of a fast clock has not.
    _end(db, f"expires_at > :now AND NOT ({RUNNING.format('')})", **MOMENTS)
    db.execute("DELETE FROM ui_session WHERE expires_at <= :now")
