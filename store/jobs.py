"""Scheduled jobs: which is due, which worker has taken it, how it ended."""

from store.connection import Connection, Row


def begin(db: Connection, name: str, every: int) -> bool:
    """Take the next run of a job that is due every so many microseconds.

    False when it is not due, or another worker has taken it.
    """
    db.execute(
        "INSERT INTO job (name, due_at) VALUES (:name, :now) ON CONFLICT (name) DO NOTHING",
        name=name,
        now=db.now,
    )
    taken = db.execute(
        "UPDATE job SET due_at = :next, started_at = :now, ended_at = NULL, outcome = NULL"
        " WHERE name = :name AND due_at <= :now",
        name=name,
        now=db.now,
        next=db.now + every,
    )
    return taken > 0


def end(db: Connection, name: str, outcome: str) -> None:
    """Record how the run that was taken ended: `done`, or what went wrong."""
    db.execute(
        "UPDATE job SET ended_at = :now, outcome = :outcome WHERE name = :name",
        name=name,
        now=db.now,
        outcome=outcome,
    )


def every(db: Connection) -> list[Row]:
    """Every job that ever ran: name, due_at, started_at, ended_at, outcome."""
    return db.all("SELECT name, due_at, started_at, ended_at, outcome FROM job ORDER BY name")
