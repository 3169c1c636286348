"""The server's sessions: their settings, and the check that no pooler shares one."""

import re
from collections.abc import Mapping

from store.database.postgres import hosts
from store.database.postgres.errors import Raw
from store.errors import Unusable

# The names of the settings in a URL's `options`.
GIVEN = re.compile(r"(?:-c\s*|--)([\w.-]+)\s*=")
SHARED = (
    "a pooler in front of PostgreSQL lends its sessions for one transaction each: set its pool mode"
    " to session, or name the server's own port"
)


def apply_settings(raw: Raw, settings: Mapping[str, str]) -> None:
    """Set these in a new session, except those that its URL's `options` set.

    Statements do it, because poolers refuse or ignore the `options` of a connection.
    """
    options = raw.info.get_parameters().get("options", "")
    given = {name.replace("-", "_").lower() for name in GIVEN.findall(options)}
    wanted = [f"SET {name} = '{value}'" for name, value in settings.items() if name not in given]
    if wanted:
        raw.execute("; ".join(wanted))


def require_own_sessions(raw: Raw, conninfo: str) -> None:
    """Raise Unusable if a pooler lends its sessions for one transaction each.

    Prepared statements and LISTEN would reach another session than they were meant for: a statement
    could even run in place of another one.
    """
    if process_id(raw) == raw.info.backend_pid:
        return
    with hosts.connect(conninfo) as other:
        # The order is mirrored, because a pooler may lend its sessions in turn.
        seen = [process_id(each) for each in (raw, other, other, raw)]
    if seen != seen[::-1] or seen[0] == seen[1]:
        raise Unusable(SHARED)


def process_id(raw: Raw) -> int:
    """Return the id of the server's process. A pooler tells clients another one."""
    row = raw.execute("SELECT pg_backend_pid()", prepare=False).fetchone()
    assert row is not None
    return int(row[0])
