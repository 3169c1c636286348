"""Migrations go forward only: one SQL file a step, applied together with the record that it ran.

The files hold the subset that SQLite and PostgreSQL share; `{id}` and `{blob}` stand for what
each engine calls a generated integer key and bytes.
"""

import re
from collections.abc import Callable
from functools import cache
from importlib.resources import files

from store.database.connection import Session
from store.errors import Unusable

NAME = re.compile(r"(\d{4})_[a-z0-9_]+\.sql")
# Beyond all steps: a record of this number closes the database to every program, of whatever
# version, and its name says why.
CLOSED = 1_000_000


@cache
def steps() -> list[tuple[int, str, str]]:
    """Every step there is: number, file name and SQL, in order."""
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
    """Bring the database up to this program; returns the names of the steps that ran.

    `before` is called with the step that a database is at which is not new and is about to be
    changed; nobody else can write to it then, and what it raises leaves all as it was.
    """
    session.begin(now, write=True)
    try:
        ran = _migrate(session, words, before)
        session.commit()
    except BaseException:
        session.rollback()
        raise
    return ran


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
            f"the database is at step {newest} and this program knows {known[-1][0]}: "
            "it was written by a newer tocsin, which is the one to start"
        )
    ran = [step for step in known if step[0] > newest]
    if before is not None and newest and ran:
        before(newest)
    for number, name, sql in ran:
        for statement in _statements(sql):
            db.execute(statement.format(**words))
        db.execute(
            "INSERT INTO migration (number, name, applied_at) VALUES (:number, :name, :now)",
            number=number,
            name=name,
            now=db.now,
        )
    return [name for _, name, _ in ran]


def _statements(sql: str) -> list[str]:
    bare = re.sub(r"--[^\n]*", "", sql)
    return [part.strip() for part in bare.split(";") if part.strip()]
