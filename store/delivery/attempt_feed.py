"""Attempts newest first, of one hook, of some repositories or of all, at a cost that does not grow
with how many there are.

What no index finds is looked for in a window of the newest ones; the answer says where that ended,
so that whoever asks can look further.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from store.database.connection import Connection, Row, json_array
from store.delivery.attempts import FAILED, SUCCEEDED

WINDOW = 2_000
# Of more hooks than this, those with the latest attempts are the only ones that can be on a page.
MOST_HOOKS = 5_000
LATEST = 2**62
COLUMNS = (
    "a.id, a.delivery_id, a.hook_id, a.event_id, a.repo_id, a.number, a.redelivery, a.started_at,"
    " a.duration, a.status_code, a.error, a.url, e.guid, e.name AS event, e.action,"
    " d.state, d.due_at, o.login || '/' || r.name AS repository"
)
JOINED = (
    " JOIN event e ON e.id = a.event_id LEFT JOIN delivery d ON d.id = a.delivery_id"
    " LEFT JOIN repository r ON r.id = a.repo_id LEFT JOIN account o ON o.id = r.owner_id"
)


@dataclass(frozen=True, slots=True)
class AttemptFilter:
    """Which attempts. `repo_ids` None is everywhere; `status` is success or failure."""

    repo_ids: Sequence[int] | None = None
    hook_id: int | None = None
    event: str = ""
    status: str = ""

    @property
    def narrowed(self) -> bool:
        """Whether something is looked for that no index finds."""
        return bool(self.event) or self.status == "success"


@dataclass(slots=True)
class AttemptPage:
    """A page. `older` is the id before which there may be more, None where that was all; `looked`
    is how many were looked through, where that ended before the page was full.
    """

    rows: list[Row] = field(default_factory=list)
    older: int | None = None
    scanned: int = 0


def page(
    db: Connection, wanted: AttemptFilter, *, limit: int, before: int | None = None
) -> AttemptPage:
    """The newest attempts with an id below `before`."""
    window = WINDOW if wanted.narrowed else limit + 1
    ids, more = _candidates(db, wanted, before or LATEST, window)
    rows = _newest(db, wanted, ids, limit + 1)
    if len(rows) > limit:
        return AttemptPage(rows[:limit], rows[limit - 1]["id"])
    return AttemptPage(rows, ids[-1], len(ids)) if more and ids else AttemptPage(rows)


def _candidates(
    db: Connection, wanted: AttemptFilter, before: int, window: int
) -> tuple[list[int], bool]:
    """Ids to look at, newest first and without a gap, and whether there are more after them."""
    failed = f" AND {FAILED.replace('a.', 'x.')}" if wanted.status == "failure" else ""
    where = f"x.id < :before{failed}"
    if wanted.hook_id is None and wanted.repo_ids is not None:
        return _of_many(db, _hooks(db, wanted.repo_ids), where, before, window)
    if wanted.hook_id is not None:
        where += " AND x.hook_id = :hook_id"
    given = {} if wanted.hook_id is None else {"hook_id": wanted.hook_id}
    rows = db.tuples(
        f"SELECT x.id FROM attempt x WHERE {where} ORDER BY x.id DESC LIMIT :limit",
        before=before,
        limit=window,
        **given,
    )
    return [number for (number,) in rows], len(rows) == window


def _hooks(db: Connection, repo_ids: Sequence[int]) -> str:
    """The repositories' hooks (`listed`), also those that were deleted."""
    rows = db.tuples(
        f"SELECT h.id FROM {db.each('repos', wanted='integer')} AS w"
        " JOIN hook h ON h.repo_id = w.wanted ORDER BY h.id DESC LIMIT :most",
        repos=json_array(repo_ids),
        most=MOST_HOOKS,
    )
    return json_array(number for (number,) in rows)


def _of_many(
    db: Connection, hooks: str, where: str, before: int, window: int
) -> tuple[list[int], bool]:
    # A page can only be of the hooks whose latest attempts are the latest of all.
    latest = db.tuples(
        "SELECT f.hook_id, f.latest FROM (SELECT w.hook_id, (SELECT max(x.id) FROM attempt x"
        f" WHERE x.hook_id = w.hook_id AND {where}) AS latest"
        f" FROM {db.each('hooks', hook_id='integer')} AS w) AS f"
        " WHERE f.latest IS NOT NULL ORDER BY f.latest DESC LIMIT 52",
        hooks=hooks,
        before=before,
    )
    if not latest:
        return [], False
    each = max(window // len(latest), min(window, 52))
    first = (
        f"SELECT x.id FROM attempt x WHERE x.hook_id = w.hook_id AND {where}"
        " ORDER BY x.id DESC LIMIT :each"
    )
    rows = db.tuples(
        f"SELECT w.hook_id, a.id FROM {db.each('hooks', hook_id='integer')} AS w"
        f" {db.lateral('attempt', 'a', first)} ORDER BY a.id DESC",
        hooks=json_array(hook_id for hook_id, _ in latest),
        before=before,
        each=each,
    )
    return _without_gaps(rows, latest, each)


def _without_gaps(
    rows: Sequence[tuple[int, ...]], latest: Sequence[tuple[int, ...]], each: int
) -> tuple[list[int], bool]:
    """Those above which no hook has any that were not looked at."""
    seen: dict[int, list[int]] = {}
    for hook_id, number in rows:
        seen.setdefault(hook_id, []).append(number)
    ends = [ids[-1] for ids in seen.values() if len(ids) == each]
    if len(latest) == 52:
        ends.append(latest[-1][1])
    floor = max(ends, default=0)
    return [number for _, number in rows if number >= floor], bool(ends)


def _newest(db: Connection, wanted: AttemptFilter, ids: Sequence[int], limit: int) -> list[Row]:
    """The first of these that are wanted. Of a hook, or of all, they are read in their order, and
    no further than to the last that is shown.
    """
    if not ids or not wanted.narrowed or (wanted.hook_id is None and wanted.repo_ids is not None):
        return _rows(db, wanted, ids, limit)
    where, given = _filters(db, replace(wanted, repo_ids=None), within=True)
    found = db.tuples(
        "SELECT a.id FROM attempt a JOIN event e ON e.id = a.event_id"
        f" WHERE a.id <= :first AND a.id >= :last{where} ORDER BY a.id DESC LIMIT :limit",
        first=ids[0],
        last=ids[-1],
        limit=limit,
        **given,
    )
    return _rows(db, wanted, [number for (number,) in found], limit)


def _rows(
    db: Connection, wanted: AttemptFilter, ids: Sequence[int], limit: int, *, within: bool = False
) -> list[Row]:
    """Those of these attempts that are wanted; `within` asks for hook and repositories, too."""
    where, given = _filters(db, wanted, within=within)
    return db.all(
        f"SELECT {COLUMNS} FROM {db.each('ids', wanted='integer')} AS w"
        f" JOIN attempt a ON a.id = w.wanted{JOINED}"
        f" WHERE 1 = 1{where} ORDER BY a.id DESC LIMIT :limit",
        ids=json_array(ids),
        limit=limit,
        **given,
    )


def _filters(db: Connection, wanted: AttemptFilter, *, within: bool) -> tuple[str, dict[str, Any]]:
    where = ""
    given: dict[str, Any] = {}
    if wanted.event:
        where += " AND e.name = :event"
        given["event"] = wanted.event
    if wanted.status:
        where += f" AND {SUCCEEDED if wanted.status == 'success' else FAILED}"
    if within and wanted.hook_id is not None:
        where += " AND a.hook_id = :hook_id"
        given["hook_id"] = wanted.hook_id
    if within and wanted.repo_ids is not None:
        where += f" AND a.repo_id IN (SELECT id FROM {db.each('repos', id='integer')} AS s)"
        given["repos"] = json_array(wanted.repo_ids)
    return where, given


def latest(db: Connection) -> int:
    """The id of the newest attempt, 0 where there is none."""
    found: int = db.value("SELECT max(id) FROM attempt") or 0
    return found


def since(db: Connection, wanted: AttemptFilter, after: int, limit: int) -> list[Row]:
    """Attempts after an id, newest first; of very many the newest ones."""
    found = db.tuples(
        "SELECT x.id FROM attempt x WHERE x.id > :after ORDER BY x.id DESC LIMIT :window",
        after=after,
        window=WINDOW,
    )
    return _rows(db, wanted, [number for (number,) in found], limit, within=True)


def list_by_guid(db: Connection, wanted: AttemptFilter, guid: str, limit: int) -> list[Row]:
    """The latest attempts that were made for events with this guid, newest first; of very many
    those for the latest events.
    """
    # Step by step, each over an index: joined at once, the database may begin at the wrong end.
    events = "SELECT id FROM event WHERE guid = :guid ORDER BY id DESC LIMIT :window"
    found = db.tuples(events, guid=guid, window=WINDOW)
    for table, column in (("delivery", "event_id"), ("attempt", "delivery_id")):
        found = db.tuples(
            f"SELECT x.id FROM {db.each('ids', wanted='integer')} AS w"
            f" JOIN {table} x ON x.{column} = w.wanted ORDER BY x.id DESC LIMIT :window",
            ids=json_array(number for (number,) in found),
            window=WINDOW,
        )
    return _rows(db, wanted, [number for (number,) in found], limit, within=True)


def hook_id_of(db: Connection, attempt_id: int) -> int | None:
    """Whose attempt it is."""
    found: int | None = db.value("SELECT hook_id FROM attempt WHERE id = :id", id=attempt_id)
    return found


def get_delivery(db: Connection, delivery_id: int) -> Row | None:
    """The delivery that attempts are of: `state`, `due_at`, `attempts`, `reason`, `lease_id`."""
    return db.one(
        "SELECT id, state, due_at, attempts, redelivery, reason, lease_id FROM delivery"
        " WHERE id = :id",
        id=delivery_id,
    )
