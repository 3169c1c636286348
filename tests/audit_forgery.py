"""What somebody does to the audit log who has the database to himself."""

from store import Connection
from store.database.sqlite.connections import SqliteSession


def forge(db: Connection, *statements: str) -> None:
    """Run what the guard refuses. A PostgreSQL that tests share has its guard again afterwards."""
    if isinstance(db, SqliteSession):
        before = ["DROP TRIGGER IF EXISTS audit_update", "DROP TRIGGER IF EXISTS audit_delete"]
        after = []
    else:
        before = ["ALTER TABLE audit DISABLE TRIGGER USER"]
        after = ["ALTER TABLE audit ENABLE TRIGGER USER"]
    for sql in (*before, *statements, *after):
        db.execute(sql)
