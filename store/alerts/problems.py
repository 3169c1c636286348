"""Problems: hooks of a host that fail in the same way, and open alerts about something else.

A problem exists while its hooks fail, or while its alerts are open. An acknowledgement lasts until
a hook recovers, or until another hook of the host gets this problem. A mute lasts for a time. The
silence of a hook mutes all its problems.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from store.alerts import alerts
from store.alerts.rules import BACKLOG_HIGH, CERTIFICATE, CONFIG_ERROR, KEY_BLOCKED
from store.clock import SECOND
from store.database import upsert
from store.database.connection import Connection, Row, json_array
from store.delivery.attempts import FAILED_X
from store.hook_state import hook_health, hook_silences
from store.monitoring.name_search import host_of

# Failing hooks that are examined, the worst first.
MOST_HOOKS = 500
# Deliveries are counted in this many failed attempts of each hook, and of all hooks, the latest
# first. Without the second limit, a page would take seconds when hundreds of hooks fail.
MOST_OF_HOOK, MOST_OF_ALL = 1_000, 50_000
# A failure is recorded some time after it happened.
SLACK = 10 * SECOND
OPEN, ACKNOWLEDGED, MUTED = "open", "acknowledged", "muted"
# Alerts that are problems of their own. Other alerts are about failing hooks, which the attempts
# show.
LABELS = {
    KEY_BLOCKED: "blocked keys",
    CERTIFICATE: "certificates that end soon",
    CONFIG_ERROR: "hooks that cannot be used as they are configured",
    BACKLOG_HIGH: "high backlog",
}
INSTALLATION = "installation"
"""The name of the whole installation in place of a host."""


@dataclass(slots=True)
class Problem:
    """Hooks of a host that have the same problem. Times are in microseconds."""

    host: str
    """The host, or INSTALLATION if no hook is concerned."""
    kind: str
    """A status code, the stage of an error such as `connect`, or an alert's kind."""
    label: str
    """The latest error or status, or what the alerts are about."""
    since: int = 0
    last_at: int = 0
    attempt_id: int = 0
    """The latest failed attempt; 0 if no attempt is the reason."""
    deliveries: int = 0
    """How many deliveries failed, as far as they were counted."""
    has_more: bool = False
    """Whether more may have failed than were counted."""
    hooks: list[Row] = field(default_factory=list)
    state: str = OPEN
    acknowledged_by: str = ""
    muted_until: int = 0

    @property
    def hook_ids(self) -> list[int]:
        return [hook["id"] for hook in self.hooks]

    @property
    def name(self) -> str:
        """Return the name that identifies it on the command line."""
        return f"{self.host}/{self.kind}"

    @property
    def noted(self) -> list[Row]:
        """Return the hooks that notes are about, or the whole installation, each with `since`."""
        return self.hooks or [{"id": alerts.INSTALLATION, "since": self.since}]


def list_all(
    db: Connection, repo_ids: Sequence[int] | None, org_ids: Sequence[int] = ()
) -> list[Problem]:
    """Return the problems, open ones first.

    `repo_ids` and `org_ids` limit them to hooks of these repositories and organizations. If
    `repo_ids` is None, there is no limit.
    """
    found = _uncounted(db, repo_ids, org_ids)
    _count_deliveries(db, found)
    order = {OPEN: 0, ACKNOWLEDGED: 1, MUTED: 2}
    return sorted(found, key=lambda one: (order[one.state], -one.deliveries, one.since))


def are_all_muted(
    db: Connection, repo_ids: Sequence[int] | None, org_ids: Sequence[int] = ()
) -> bool:
    """Return whether there are problems and all are muted, so that nobody wants an alarm."""
    found = _uncounted(db, repo_ids, org_ids)
    return bool(found) and all(problem.state == MUTED for problem in found)


def find(
    db: Connection,
    wanted: tuple[str, str],
    repo_ids: Sequence[int] | None,
    org_ids: Sequence[int] = (),
) -> Problem | None:
    """Return the problem of a host and a kind, or None."""
    named = [p for p in _uncounted(db, repo_ids, org_ids) if (p.host, p.kind) == wanted]
    _count_deliveries(db, named)
    return named[0] if named else None


def _uncounted(
    db: Connection, repo_ids: Sequence[int] | None, org_ids: Sequence[int]
) -> list[Problem]:
    """Return the problems without the numbers of their deliveries, which take long to count."""
    failing = hook_health.failing(db, repo_ids, MOST_HOOKS, org_ids=org_ids)
    latest = _latest_failures(db, failing)
    found: dict[tuple[str, str], Problem] = {}
    for hook in failing:
        attempt = latest.get(hook["id"])
        if attempt is not None:
            _add(found, hook, attempt)
    _add_alerts(db, found, repo_ids, org_ids)
    noted = {hook["id"] for problem in found.values() for hook in problem.noted}
    notes, silences = _notes(db, noted), hook_silences.active(db, noted)
    for problem in found.values():
        _set_state(problem, notes, silences, db.now)
    return list(found.values())


def _latest_failures(db: Connection, hooks: Iterable[Row]) -> dict[int, Row]:
    latest = (
        f"SELECT x.id FROM attempt x WHERE x.hook_id = w.hook_id AND {FAILED_X}"
        " ORDER BY x.id DESC LIMIT 1"
    )
    rows = db.all(
        "SELECT w.hook_id, a.id, a.status_code, a.error, a.started_at"
        f" FROM {db.each('hooks', hook_id='integer')} AS w {db.lateral('attempt', 'f', latest)}"
        " JOIN attempt a ON a.id = f.id",
        hooks=json_array(hook["id"] for hook in hooks),
    )
    return {row["hook_id"]: row for row in rows}


def _count_deliveries(db: Connection, found: Iterable[Problem]) -> None:
    """Set how many deliveries have failed since the hooks of these problems began to fail."""
    failing = [(problem, hook) for problem in found for hook in problem.hooks if hook["attempt_id"]]
    most = min(MOST_OF_HOOK, MOST_OF_ALL // max(len(failing), 1))
    counted = db.mapping(
        # The number is negative if there may be more.
        "SELECT w.hook_id, (SELECT"
        f" count(DISTINCT f.delivery_id) * CASE WHEN count(*) < {most} THEN 1 ELSE -1 END"
        " FROM (SELECT x.delivery_id FROM attempt x"
        f" WHERE x.hook_id = w.hook_id AND {FAILED_X} AND x.started_at + x.duration >= w.since"
        f" ORDER BY x.id DESC LIMIT {most}) AS f)"
        f" FROM {db.each('hooks', hook_id='integer', since='integer')} AS w",
        hooks=json_array(
            (hook["id"], (hook["failing_since"] or db.now) - SLACK) for _, hook in failing
        ),
    )
    for problem, hook in failing:
        number = counted[hook["id"]]
        problem.deliveries += max(abs(number), 1)
        problem.has_more |= number < 0


def _notes(db: Connection, hook_ids: Iterable[int]) -> dict[tuple[int, str], Row]:
    rows = db.all(
        "SELECT hook_id, kind, acknowledged_by, acknowledged_at, muted_until FROM problem_note"
        f" WHERE hook_id {db.among('hooks')}",
        hooks=json_array(hook_ids),
    )
    return {(row["hook_id"], row["kind"]): row for row in rows}


def kind_of(attempt: Row) -> str:
    """Return the kind of a failed attempt: the stage of its error, or its status code."""
    if attempt["error"] is not None:
        return str(attempt["error"]).partition(":")[0][:40]
    return str(attempt["status_code"])


def _add(found: dict[tuple[str, str], Problem], hook: Row, attempt: Row) -> None:
    key = host_of(hook["url"]), kind_of(attempt)
    label = str(attempt["error"] or attempt["status_code"])[:120]
    problem = found.setdefault(key, Problem(*key, label))
    since = min(hook["failing_since"] or attempt["started_at"], attempt["started_at"])
    problem.since = min(problem.since or since, since)
    problem.hooks.append({**hook, "since": since, "attempt_id": attempt["id"]})
    if attempt["id"] > problem.attempt_id:
        problem.attempt_id, problem.last_at = attempt["id"], attempt["started_at"]
        problem.label = label


def _add_alerts(
    db: Connection,
    found: dict[tuple[str, str], Problem],
    repo_ids: Sequence[int] | None,
    org_ids: Sequence[int],
) -> None:
    """Add the problems that alerts report: hooks of a host with open alerts of a kind."""
    rows = alerts.list_open(db, LABELS, MOST_HOOKS, repo_ids, org_ids)
    hooks = hook_health.rows_of(db, {row["hook_id"] for row in rows if row["hook_id"]})
    for row in rows:
        # If the alert has a failed attempt, the hook's failures are the problem. Without one, the
        # hook was paused.
        if row["kind"] == CONFIG_ERROR and "attempt" in row["data"]:
            continue
        hook = hooks.get(row["hook_id"])
        host = INSTALLATION if hook is None else host_of(hook["url"])
        problem = found.setdefault(
            (host, row["kind"]), Problem(host, row["kind"], LABELS[row["kind"]], row["opened_at"])
        )
        problem.last_at = row["opened_at"]
        # A hook has one note for all its alerts of a kind. A later alert opens the problem again.
        known = next((one for one in problem.hooks if one["id"] == row["hook_id"]), None)
        if known is not None:
            known["since"] = row["opened_at"]
        elif hook is not None:
            problem.hooks.append({**hook, "since": row["opened_at"], "attempt_id": 0})


def _set_state(
    problem: Problem, notes: dict[tuple[int, str], Row], silences: dict[int, Row], now: int
) -> None:
    mine = [(hook, notes.get((hook["id"], problem.kind))) for hook in problem.noted]
    muted_until = min(_muted_until(note, silences.get(hook["id"])) for hook, note in mine)
    if muted_until > now:
        problem.state, problem.muted_until = MUTED, muted_until
    elif all(
        # A time that lies ahead was written by a clock that was fast.
        note is not None and hook["since"] <= (note["acknowledged_at"] or 0) <= now
        for hook, note in mine
    ):
        names = (note["acknowledged_by"] for _, note in mine if note is not None)
        problem.state, problem.acknowledged_by = ACKNOWLEDGED, ", ".join(sorted(set(names)))


def _muted_until(note: Row | None, silence: Row | None) -> int:
    muted = 0 if note is None else note["muted_until"] or 0
    return max(muted, 0 if silence is None else silence["ends_at"])


def acknowledge(db: Connection, problem: Problem, login: str) -> None:
    """Record that somebody knows of a problem."""
    # An acknowledgement covers no later beginning.
    alerts.begin_now(db, problem.kind, {hook["id"] for hook in problem.noted})
    _set(db, problem, acknowledged_by=login, acknowledged_at=db.now)


def mute(db: Connection, problem: Problem, until: int) -> None:
    """Hide a problem until a time."""
    _set(db, problem, muted_until=until)


def reopen(db: Connection, problem: Problem) -> None:
    """Forget that a problem was acknowledged or muted. End the silences of its hooks."""
    db.delete_many(
        "problem_note", "hook_id", (hook["id"] for hook in problem.noted), kind=problem.kind
    )
    hook_silences.end(db, problem.hook_ids)


def _set(db: Connection, problem: Problem, **columns: object) -> None:
    for hook_id in sorted(hook["id"] for hook in problem.noted):
        values = {"hook_id": hook_id, "kind": problem.kind, **columns}
        upsert.insert_or_replace(db, "problem_note", values, "hook_id, kind")
