"""Forward-only migrations: one SQL file a step, recorded in the transaction that applies it.

The files use the subset of SQL that SQLite and PostgreSQL share. `{id}` and `{blob}` stand for each
engine's type of a generated integer key and of bytes, and TEXT for its type of texts in the order
of their bytes.
"""

import re
from collections.abc import Callable
from functools import cache
from importlib.resources import files

from store.database.connection import Session
from store.errors import Unusable

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
    if _is_current(session, now):
        return []
    session.begin(now, write=True)
    try:
        ran = _migrate(session, words, before)
        session.commit()
    except BaseException:
        session.rollback()
        raise
    return ran


def _is_current(session: Session, now: int) -> bool:
    session.begin(now, write=False)
    try:
        newest = session.db.value("SELECT max(number) FROM migration")
        session.commit()
    except Exception:
        # A new database has no such table. The migration itself reports all other errors.
        session.rollback()
        return False
    return bool(newest == steps()[-1][0])


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
    closed = db.value("SELECT name FROM migration WHERE number = :number", number=CLOSED)
    if closed is not None:
        raise Unusable(closed)
    known = steps()
    newest = db.value("SELECT max(number) FROM migration") or 0
    if newest > known[-1][0]:
        raise Unusable(
            f"a newer tocsin has written the database: it is at step {newest}, and this program"
            f" knows {known[-1][0]}. Start that tocsin, or restore a copy from before the upgrade"
        )
    ran = [step for step in known if step[0] > newest]
    if before is not None and newest and ran:
        before(newest)
    for number, name, sql in ran:
        for statement in _statements(sql):
            db.execute(TEXT.sub("{text}", statement).format(**words))
        db.execute(
            "INSERT INTO migration (number, name, applied_at) VALUES (:number, :name, :now)",
            number=number,
            name=name,
        )
    return [name for _, name, _ in ran]


def _statements(sql: str) -> list[str]:
    bare = re.sub(r"--[^\n]*", "", sql)
    return [part.strip() for part in bare.split(";") if part.strip()]
