"""Forward-only migrations: one SQL file a step, recorded in the transaction that applies it.

The files use the subset of SQL that SQLite and PostgreSQL share. `{id}` and `{blob}` stand for each
engine's type of a generated integer key and of bytes, and TEXT for its type of texts in the order
of their bytes.
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files

from store.database.connection import Connection, Session
from store.errors import Absent, Outdated, StoreError, Unusable

NAME = re.compile(r"(\d{4})_[a-z0-9_]+\.sql")
TEXT = re.compile(r"\bTEXT\b")
# Above all steps. A record with this number closes the database to every program of any version,
# and its name is the reason.
CLOSED = 1_000_000


@cache
def steps() -> list[tuple[int, str, str]]:
    """Return every step in order: number, file name and SQL."""
    found = []
    for file in files(__name__).iterdir():
        matched = NAME.fullmatch(file.name)
        if matched:
            found.append((int(matched[1]), file.name, file.read_text(encoding="utf-8")))
    return sorted(found)


@cache
def recorded_name(name: str, sql: str) -> str:
    """Return the name under which a step is recorded: its file's name, and a hash of its SQL.

    Between releases, `0001_schema.sql` changes in place. The hash does not cover comments. Version
    0.1.0 recorded no hash, so its databases are refused.
    """
    statements = "\n".join(" ".join(one.split()) for one in _statements(sql))
    return f"{name} {hashlib.sha256(statements.encode()).hexdigest()[:12]}"


def summarize(recorded: Mapping[int, str]) -> tuple[int, str | None]:
    """Return the newest of the recorded steps, and the reason if the database is closed, else None.

    `recorded` are the names of the steps by their numbers.
    """
    newest = max((number for number in recorded if number < CLOSED), default=0)
    return newest, recorded.get(CLOSED) or _find_change(recorded)


def _find_change(recorded: Mapping[int, str]) -> str | None:
    for number, name, sql in steps():
        known = recorded_name(name, sql)
        if recorded.get(number, known) != known:
            return (
                "another version of tocsin has made the database, with other tables than this"
                f" version needs (step {number}). Start that version, or let `store` name a new"
                " database"
            )
    return None


def migrate(
    session: Session,
    now: int,
    words: dict[str, str],
    before: Callable[[int], object] | None = None,
) -> list[str]:
    """Migrate the database to this program's version. Return the names of the steps that ran.

    If the database is not new and is about to change, `before` is called with its current step. No
    other process can write then. If `before` raises, nothing changes. A database that is up to date
    is only read. So commands can show it while a program locks it, or while a server only reads.
    """
    if state(session, now) == (steps()[-1][0], None):
        return []
    session.begin(now, write=True)
    try:
        ran = _migrate(session, words, before)
        session.commit()
    except BaseException:
        session.rollback()
        raise
    return ran


def require_current(session: Session, now: int) -> None:
    """Raise Unusable, with the remedy, if the database is not at this program's version.

    Only the start of a hub migrates: beside a command or a worker, a hub of the older version may
    be running.
    """
    found, wanted = state(session, now), steps()[-1][0]
    if found is None:
        raise Absent("the database has no tables of tocsin: `tocsin serve` makes them")
    _require_usable(*found)
    if found[0] < wanted:
        raise Outdated(
            f"the database is at step {found[0]}, and this program needs step {wanted}: restart"
            " tocsin, hub and worker. The start of the hub upgrades the database"
        )


def state(session: Session, now: int) -> tuple[int, str | None] | None:
    """Return the newest applied step, and the reason if the database is closed, else None.

    Return None for a new database.
    """
    session.begin(now, write=False)
    try:
        found = _state(session.db)
        session.commit()
    except StoreError:
        session.rollback()
        raise
    except Exception:
        # A new database has no such table. The migration itself reports all other errors.
        session.rollback()
        return None
    return found


def _state(db: Connection) -> tuple[int, str | None]:
    return summarize(db.mapping("SELECT number, name FROM migration"))


def _require_usable(newest: int, closed: str | None) -> None:
    """Raise Unusable if the database is closed, or if a newer program has migrated it."""
    if closed is not None:
        raise Unusable(closed)
    known = steps()[-1][0]
    if newest > known:
        raise Unusable(
            f"a newer tocsin has written the database: it is at step {newest}, and this program"
            f" knows {known}. Start that tocsin, or restore a copy from before the upgrade"
        )


def _migrate(
    session: Session, words: dict[str, str], before: Callable[[int], object] | None
) -> list[str]:
    db = session.db
    db.no_timeout()
    db.alone("migration")
    db.execute(
        "CREATE TABLE IF NOT EXISTS migration"
        " (number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at BIGINT NOT NULL)"
    )
    newest, closed = _state(db)
    _require_usable(newest, closed)
    ran = [step for step in steps() if step[0] > newest]
    if before is not None and newest and ran:
        before(newest)
    for number, name, sql in ran:
        for statement in _statements(sql):
            db.execute(TEXT.sub("{text}", statement).format(**words))
        db.execute(
            "INSERT INTO migration (number, name, applied_at) VALUES (:number, :name, :now)",
            number=number,
            name=recorded_name(name, sql),
        )
    return [name for _, name, _ in ran]


def _statements(sql: str) -> list[str]:
    bare = re.sub(r"--[^\n]*", "", sql)
    return [part.strip() for part in bare.split(";") if part.strip()]
