"""The filter of attempts, and its SQL."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from store.database.connection import Connection, json_array
from store.database.time_range import ALWAYS, TimeRange
from store.delivery.attempts import FAILED, FAILED_X, SUCCEEDED
from store.hooks.event_names import EventPattern
from store.monitoring import name_search

# If there are more hooks than this, only the newest ones are examined.
MOST_HOOKS = 5_000


@dataclass(frozen=True, slots=True)
class AttemptFilter:
    """A filter for attempts. `repo_ids` and `hook_ids` None mean everywhere.

    `repo_ids` finds the attempts of the repositories' own hooks. `org_ids` adds the own hooks of
    these organizations. `events_of` finds the attempts for events of these repositories, to
    any hook.
    `status` is success or failure. `codes` is the lowest and the highest status code, (0, 0) for
    attempts without a response. `first` and `before` limit the ids. `times` limits the starts, and
    `attempt_feed.id_range` returns the ids for it.
    `hidden_owners` leaves out the events of these owners and their repositories. If there are
    any, it also leaves out the events of deleted repositories, because their owners are unknown.
    """

    repo_ids: Sequence[int] | None = None
    org_ids: Sequence[int] = ()
    hook_id: int | None = None
    event: str = ""
    status: str = ""
    hook_ids: Sequence[int] | None = None
    pattern: EventPattern | None = None
    codes: tuple[int, int] | None = None
    first: int = 0
    before: int | None = None
    events_of: Sequence[int] | None = None
    times: TimeRange = ALWAYS
    hidden_owners: Sequence[int] = ()

    @property
    def narrowed(self) -> bool:
        """Return whether the filter has a condition that no index supports."""
        success = self.status == "success"
        conditions = (self.event, self.pattern, self.codes, success, self.events_of)
        return any(one not in ("", None, False) for one in (*conditions, bool(self.hidden_owners)))

    @property
    def of_many_hooks(self) -> bool:
        """Return whether the attempts are read hook by hook."""
        return self.hook_id is None and (self.repo_ids is not None or self.hook_ids is not None)

    @property
    def failed(self) -> bool:
        """Return whether all these attempts failed, so that an index of the failed ones helps."""
        codes = self.codes
        return self.status == "failure" or (codes is not None and not 200 <= codes[0] <= 299)


def indexed(wanted: AttemptFilter) -> str:
    """Return the conditions that an index supports, or that few attempts of the ids do not meet."""
    failed = f" AND {FAILED_X}" if wanted.failed else ""
    # An id is a number, so it is safe here.
    return f"x.id < :before AND x.id >= {wanted.first:d}{failed}{_started(wanted.times, 'x')}"


def _started(times: TimeRange, alias: str) -> str:
    since = "" if times.since is None else f" AND {alias}.started_at >= {times.since:d}"
    return since + ("" if times.until is None else f" AND {alias}.started_at < {times.until:d}")


def hooks(db: Connection, wanted: AttemptFilter) -> str:
    """Return the filter's hooks or its owners' hooks, deleted too, as a `json_array`."""
    if wanted.hook_ids is not None:
        return json_array(wanted.hook_ids)
    found = db.column(
        f"SELECT h.id FROM ({name_search.hooks_of(db)}) AS h ORDER BY h.id DESC LIMIT :most",
        repos=json_array(wanted.repo_ids or ()),
        orgs=json_array(wanted.org_ids),
        most=MOST_HOOKS,
    )
    return json_array(found)


def conditions(
    db: Connection, wanted: AttemptFilter, *, within: bool
) -> tuple[str, dict[str, Any]]:
    """Return SQL that follows a condition, for attempts `a` of events `e` and hooks `h`.

    `within` also checks the ids, the hooks and the repositories. The second value has the
    parameters.
    """
    where = ""
    given: dict[str, Any] = {}
    if wanted.event:
        where += " AND e.name = :event"
        given["event"] = wanted.event
    if wanted.status:
        where += f" AND {SUCCEEDED if wanted.status == 'success' else FAILED}"
    if wanted.pattern is not None:
        condition, named = wanted.pattern.condition("e")
        where += f" AND {condition}"
        given |= named
    if wanted.codes is not None:
        lowest, highest = wanted.codes
        none = " AND a.status_code IS NULL"
        where += none if not highest else f" AND a.status_code BETWEEN {lowest:d} AND {highest:d}"
    if wanted.events_of is not None:
        where += f" AND a.repo_id {db.among('events_of')}"
        given["events_of"] = json_array(wanted.events_of)
    if wanted.hidden_owners:
        hidden = db.among("hidden")
        where += (
            f" AND e.org_id NOT {hidden} AND (a.repo_id = 0 OR EXISTS (SELECT 1"
            f" FROM repository z WHERE z.id = a.repo_id AND z.owner_id NOT {hidden}))"
        )
        given["hidden"] = json_array(wanted.hidden_owners)
    if within:
        condition, named = _within(db, wanted)
        where += condition
        given |= named
    return where, given


def _within(db: Connection, wanted: AttemptFilter) -> tuple[str, dict[str, Any]]:
    """Return the conditions on the ids, the hooks and the repositories, and their parameters."""
    where = f" AND a.id >= {wanted.first:d}{_started(wanted.times, 'a')}"
    given: dict[str, Any] = {}
    if wanted.before is not None:
        where += f" AND a.id < {wanted.before:d}"
    if wanted.hook_ids is not None:
        where += f" AND a.hook_id {db.among('hooks')}"
        given["hooks"] = json_array(wanted.hook_ids)
    if wanted.hook_id is not None:
        where += " AND a.hook_id = :hook_id"
        given["hook_id"] = wanted.hook_id
    if wanted.repo_ids is not None:
        # Subscribers by WebSub and hooks of the owner, of apps and of the installation get a
        # repository's events, too. They do not belong to the repository, so their attempts are
        # left out.
        where += (
            f" AND (h.org_id {db.among('orgs')}"
            f" OR a.repo_id {db.among('repos')} AND h.repo_id IS NOT NULL)"
        )
        given |= {"orgs": json_array(wanted.org_ids), "repos": json_array(wanted.repo_ids)}
    return where, given
