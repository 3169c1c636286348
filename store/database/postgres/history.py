"""The history of the database. If another server continues it, no table gives an id twice.

A replica that takes over may lack the last rows of the server before it, and a restored dump lacks
all rows since it was made. Hubs, workers and other programs may still know the ids of those rows.
With the same ids again, a worker would send a lost event's payload in place of a new event's.
"""

import logging
from weakref import WeakSet

import psycopg
from psycopg import errors

from store.database.postgres.errors import Raw

log = logging.getLogger("tocsin.store")

# Whether it may get a name later, because it is a replica or has no tables yet, and its name. A
# promoted replica begins a new timeline, and a restored dump has made the tables anew. For a role
# that cannot write to the table, there is no name.
SERVER = (
    "SELECT pg_is_in_recovery() OR to_regclass('server_history') IS NULL,"
    " CASE WHEN NOT pg_is_in_recovery()"
    " AND has_table_privilege(to_regclass('server_history'), 'UPDATE')"
    " THEN concat_ws(' ', system_identifier, left(pg_walfile_name(pg_current_wal_lsn()), 8),"
    " CAST(to_regclass('event') AS oid)) END FROM pg_control_system()"
)
KNOWN = "SELECT server FROM server_history WHERE id = 1"
FIRST = "INSERT INTO server_history (id, server) VALUES (1, %s) ON CONFLICT DO NOTHING"
CHANGED = "UPDATE server_history SET server = %s WHERE id = 1 AND server <> %s"
# Each table skips as many ids as it has given, within these bounds. A table of another owner is
# another program's, and setting its ids could fail.
LEAST_LOST, MOST_LOST = 10_000, 10_000_000
SKIP = (
    "SELECT setval(s.seqrelid, last + least(greatest(last, %s), %s)) FROM pg_sequence s"
    " JOIN pg_class c ON c.oid = s.seqrelid"
    " JOIN pg_class e ON e.oid = to_regclass('event') AND e.relnamespace = c.relnamespace"
    " AND e.relowner = c.relowner"
    " JOIN pg_depend d ON d.objid = s.seqrelid AND d.deptype = 'i'"
    " CROSS JOIN LATERAL (SELECT coalesce(pg_sequence_last_value(s.seqrelid), 0) AS last) AS w"
    " WHERE d.classid = CAST('pg_class' AS regclass)"
)


class ServerHistory:
    """The server that this process has seen last."""

    def __init__(self) -> None:
        self._seen: str | None = None
        self._early: WeakSet[Raw] = WeakSet()

    def check(self, raw: Raw) -> None:
        """Compare the server of a new connection with the one that the database names.

        Connections to one that has taken over are only used after this. So no id is given before.
        """
        early, server = _server(raw)
        if early:
            self._early.add(raw)
        if server is not None and server != self._seen:
            try:
                _continue(raw, server)
                self._seen = server
            except errors.ReadOnlySqlTransaction:
                self._early.add(raw)

    def is_early(self, raw: Raw) -> bool:
        """Return whether the check could not be done yet, so that it may serve only once."""
        return raw in self._early


def _server(raw: Raw) -> tuple[bool, str | None]:
    """Return whether the server may get a name later, and its name, or None."""
    try:
        row = raw.execute(SERVER, prepare=False).fetchone()
    except (psycopg.ProgrammingError, psycopg.NotSupportedError):
        # Not every database that speaks PostgreSQL's protocol has these functions.
        return False, None
    assert row is not None
    return row[0], row[1]


def _continue(raw: Raw, server: str) -> None:
    if raw.execute(KNOWN, prepare=False).fetchone() == (server,):
        return
    with raw.transaction():
        raw.execute(FIRST, [server])
        # A process that comes second waits here for the first one, and changes nothing.
        if raw.execute(CHANGED, [server, server]).rowcount:
            raw.execute(SKIP, [LEAST_LOST, MOST_LOST])
            log.warning(
                "another server continues this database, or it was restored: new ids leave a gap"
            )
