"""Attempts, newest first: of one hook, of some repositories, or of all.

The cost does not grow with the number of attempts. If no index supports a filter, a window of the
newest attempts is searched. The result then has the id from which to continue.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from store.clock import MINUTE, SECOND
from store.database import paging
from store.database.connection import LAST_ID, Connection, Row, json_array
from store.database.id_search import first_id_since
from store.database.time_range import TimeRange
from store.delivery import attempt_filter
from store.delivery.attempt_filter import AttemptFilter
from store.delivery.attempts import REPOSITORY
from store.hooks.hook_targets import OF_HOOK

WINDOW = 2_000
# Attempts are recorded when they have ended, so their ids rise with their ends, and not with their
# starts: one that ends with a time-out started before many with lower ids.
ENDED = "COALESCE(e.recorded_at, e.started_at + e.duration)"
# An attempt is usually recorded at most so many microseconds after it has ended.
LATE = 5 * SECOND
# An attempt takes at most about so many microseconds: the setting `timeout` is at most 120 s, and a
# receiver that fetches may keep a delivery for an hour, or longer if it extends that.
LONGEST, LONGEST_FETCHED = 3 * MINUTE, 63 * MINUTE
COLUMNS = (
    "a.id, a.delivery_id, a.hook_id, a.event_id, a.repo_id, a.number, a.redelivery, a.started_at,"
    " a.duration, a.status_code, a.error, a.url, e.guid, e.name AS event, e.action,"
    " d.state, d.due_at, h.resting_until, COALESCE(h.held_until, s.held_until) AS held_until,"
    f" h.paused_at, h.active AS hook_active, {OF_HOOK}, {REPOSITORY}"
)
JOINED = (
    " JOIN event e ON e.id = a.event_id LEFT JOIN delivery d ON d.id = a.delivery_id"
    " LEFT JOIN hook h ON h.id = a.hook_id LEFT JOIN websub s ON s.id = -a.hook_id"
    " LEFT JOIN repository r ON r.id = a.repo_id LEFT JOIN account o ON o.id = r.owner_id"
)


@dataclass(slots=True)
class AttemptPage:
    """A page of attempts.

    `older` is the id before which there may be more, or None at the end. `scanned` is how many
    attempts were examined, if the window ended before the page was full, and else 0.
    """

    rows: list[Row] = field(default_factory=list)
    older: int | None = None
    scanned: int = 0


def page(
    db: Connection, wanted: AttemptFilter, *, limit: int, before: int | None = None
) -> AttemptPage:
    """Return the newest attempts with an id below `before`."""
    window = WINDOW if wanted.narrowed else limit + 1
    below = min(before or LAST_ID, wanted.before or LAST_ID)
    ids, more = candidates(db, wanted, below, window)
    rows = _newest(db, wanted, ids, limit + 1)
    if len(rows) > limit:
        return AttemptPage(rows[:limit], rows[limit - 1]["id"])
    return AttemptPage(rows, ids[-1], len(ids)) if more and ids else AttemptPage(rows)


def candidates(
    db: Connection, wanted: AttemptFilter, before: int, window: int
) -> tuple[list[int], bool]:
    """Return up to `window` ids to examine, newest first and without a gap.

    Also return whether there are more.
    """
    where = attempt_filter.indexed(wanted)
    if wanted.of_many_hooks:
        return _of_many(db, attempt_filter.hooks(db, wanted), where, before, window)
    if wanted.hook_id is not None:
        where += " AND x.hook_id = :hook_id"
    given = {} if wanted.hook_id is None else {"hook_id": wanted.hook_id}
    ids = db.column(
        f"SELECT x.id FROM attempt x WHERE {where} ORDER BY x.id DESC LIMIT :limit",
        before=before,
        limit=window,
        **given,
    )
    return ids, len(ids) == window


def count(db: Connection, wanted: AttemptFilter, before: int, most: int) -> int:
    """Return the number of matching attempts, up to `most`. The filter must not be narrowed."""
    source, where = "attempt x", attempt_filter.indexed(wanted)
    given: dict[str, object] = {}
    if wanted.of_many_hooks:
        source = f"{db.each('hooks', hook_id='integer')} AS w JOIN attempt x"
        source += " ON x.hook_id = w.hook_id"
        given["hooks"] = attempt_filter.hooks(db, wanted)
    elif wanted.hook_id is not None:
        where += " AND x.hook_id = :hook_id"
        given["hook_id"] = wanted.hook_id
    query = f"SELECT x.id FROM {source} WHERE {where}"
    return paging.count(db, query, most, before=before, **given)


def count_among(db: Connection, wanted: AttemptFilter, ids: Sequence[int]) -> int:
    where, given = attempt_filter.conditions(db, wanted, within=False)
    return db.number(
        f"SELECT count(*) FROM {db.each('ids', wanted='integer')} AS w"
        " JOIN attempt a ON a.id = w.wanted JOIN event e ON e.id = a.event_id"
        f" LEFT JOIN hook h ON h.id = a.hook_id WHERE 1 = 1{where}",
        ids=json_array(ids),
        **given,
    )


def _of_many(
    db: Connection, hooks: str, where: str, before: int, window: int
) -> tuple[list[int], bool]:
    # A page can only have attempts of the hooks with the latest attempts.
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
    """Return the ids down to the point where a hook may have attempts that were not read."""
    seen: dict[int, list[int]] = {}
    for hook_id, number in rows:
        seen.setdefault(hook_id, []).append(number)
    ends = [ids[-1] for ids in seen.values() if len(ids) == each]
    if len(latest) == 52:
        ends.append(latest[-1][1])
    floor = max(ends, default=0)
    return [number for _, number in rows if number >= floor], bool(ends)


def _newest(db: Connection, wanted: AttemptFilter, ids: Sequence[int], limit: int) -> list[Row]:
    """Return the first matching attempts among these.

    For one hook or for all, the database reads the attempts in order and stops at the last one
    shown.
    """
    if not ids or not wanted.narrowed or wanted.of_many_hooks:
        return select(db, wanted, ids, limit)
    where, given = attempt_filter.conditions(db, replace(wanted, repo_ids=None), within=True)
    found = db.column(
        "SELECT a.id FROM attempt a JOIN event e ON e.id = a.event_id"
        f" WHERE a.id <= :first AND a.id >= :last{where} ORDER BY a.id DESC LIMIT :limit",
        first=ids[0],
        last=ids[-1],
        limit=limit,
        **given,
    )
    return select(db, wanted, found, limit)


def select(
    db: Connection,
    wanted: AttemptFilter,
    ids: Sequence[int],
    limit: int,
    *,
    within: bool = False,
    order: str = "a.id DESC",
    skip: int = 0,
) -> list[Row]:
    """Return the matching attempts among these. `within` also checks the hook and repositories.

    `order` is SQL.
    """
    where, given = attempt_filter.conditions(db, wanted, within=within)
    return db.all(
        f"SELECT {COLUMNS} FROM {db.each('ids', wanted='integer')} AS w"
        f" JOIN attempt a ON a.id = w.wanted{JOINED}"
        f" WHERE 1 = 1{where} ORDER BY {order} LIMIT :limit OFFSET :skip",
        ids=json_array(ids),
        limit=limit,
        skip=skip,
        **given,
    )


def id_range(db: Connection, times: TimeRange) -> tuple[int, int | None]:
    """Return the lowest id of the attempts that may have started in `times`.

    Also return the lowest id above them, or None without an end. In between, there may be attempts
    that started earlier or later.
    """
    first, before = 0, None
    if times.since is not None:
        first = first_id_since(db, "attempt", ENDED, times.since - LATE)
    if times.until is not None:
        fetched = "SELECT 1 FROM attempt WHERE recorded_at IS NOT NULL LIMIT 1"
        longest = LONGEST if db.value(fetched) is None else LONGEST_FETCHED
        before = first_id_since(db, "attempt", ENDED, times.until + longest)
    return first, before


def latest(db: Connection) -> int:
    """Return the id of the newest attempt, or 0."""
    return db.optional_number("SELECT max(id) FROM attempt") or 0


def since(db: Connection, wanted: AttemptFilter, after: int, limit: int) -> list[Row]:
    """Return matching attempts with ids above `after`, newest first.

    If there are more than WINDOW attempts, only the newest ones are examined.
    """
    found = db.column(
        "SELECT x.id FROM attempt x WHERE x.id > :after ORDER BY x.id DESC LIMIT :window",
        after=after,
        window=WINDOW,
    )
    return select(db, wanted, found, limit, within=True)


def list_by_guid(db: Connection, wanted: AttemptFilter, guid: str, limit: int) -> list[Row]:
    """Return the latest attempts for events with this guid, newest first.

    If there are very many, only attempts for the latest events are returned.
    """
    # Each step uses an index. In one join, the database may begin with the wrong table.
    events = "SELECT id FROM event WHERE guid = :guid ORDER BY id DESC LIMIT :window"
    found = db.column(events, guid=guid, window=WINDOW)
    for table, column in (("delivery", "event_id"), ("attempt", "delivery_id")):
        found = db.column(
            f"SELECT x.id FROM {db.each('ids', wanted='integer')} AS w"
            f" JOIN {table} x ON x.{column} = w.wanted ORDER BY x.id DESC LIMIT :window",
            ids=json_array(found),
            window=WINDOW,
        )
    return select(db, wanted, found, limit, within=True)


def origin_of(db: Connection, attempt_id: int) -> Row | None:
    """Return an attempt's `hook_id`, and its event's `repo_id` and `org_id`; or None."""
    return db.one(
        "SELECT a.hook_id, a.repo_id, e.org_id FROM attempt a JOIN event e ON e.id = a.event_id"
        " WHERE a.id = :id",
        id=attempt_id,
    )


def get_delivery(db: Connection, delivery_id: int) -> Row | None:
    """Return a delivery's `state`, `due_at`, `attempts`, `redelivery`, `reason` and `lease_id`.

    Its hook's `resting_until`, `held_until`, `paused_at` and `hook_active` are included.
    """
    return db.one(
        "SELECT d.id, d.state, d.due_at, d.attempts, d.redelivery, d.reason, d.lease_id,"
        " h.resting_until, COALESCE(h.held_until, w.held_until) AS held_until, h.paused_at,"
        " h.active AS hook_active FROM delivery d LEFT JOIN hook h ON h.id = d.hook_id"
        " LEFT JOIN websub w ON w.id = -d.hook_id WHERE d.id = :id",
        id=delivery_id,
    )
