"""Check suites: all checks of one commit by one app, and their overall result."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from store.checks import check_apps, check_counts
from store.database import external_ids, paging, payload_reader, row_lookup, upsert
from store.database.connection import Connection, Row
from store.delivery import sources
from store.errors import existing
from store.repositories import head_commits

COLUMNS = (
    "s.id, s.number, s.repo_id, s.head_sha, s.head_branch, s.before_sha, s.after_sha, s.app_id,"
    " s.foreign_app_id, s.app_number, s.reflected, s.signed, s.status, s.conclusion, s.pulls,"
    " s.head_commit, s.created_at, s.updated_at, s.reported_at"
)
SELECT = f"SELECT {COLUMNS} FROM check_suite s"
STATUSES = ("queued", "in_progress", "completed", "waiting", "requested", "pending")
# In order of precedence for the suite's conclusion. Source: the platform's guide to its checks.
CONCLUSIONS = (
    "action_required",
    "cancelled",
    "timed_out",
    "failure",
    "stale",
    "neutral",
    "success",
    "skipped",
)
MOST_OF_PULLS = 10_000
"""The limit of the bytes of a commit's pull requests. Others are left out."""
SHA = payload_reader.text(64, 1)
FIELDS: payload_reader.Readers = {
    "head_sha": SHA,
    "head_branch": payload_reader.nullable(payload_reader.text(255)),
    "before_sha": ("before", payload_reader.nullable(SHA)),
    "after_sha": ("after", payload_reader.nullable(SHA)),
    "status": payload_reader.one_of(*STATUSES),
    "conclusion": payload_reader.nullable(payload_reader.one_of(*CONCLUSIONS, "startup_failure")),
    **payload_reader.TIMES,
}
PULL: payload_reader.Readers = {"id": payload_reader.number, "number": payload_reader.number}
END = {"ref": payload_reader.text(255), "sha": payload_reader.text(64)}


def get(db: Connection, repo_id: int, number: int) -> Row | None:
    """Return the repository's suite with this public id, or None."""
    return db.find(SELECT, repo_id=repo_id, number=number)


def by_id(db: Connection, suite_id: int) -> Row:
    """Return the suite with this id. Raises Missing."""
    return existing(db.one(f"{SELECT} WHERE s.id = :id", id=suite_id), "check suite")


def of(db: Connection, suite_ids: Iterable[int]) -> list[Row]:
    return [*row_lookup.by_id(db, f"{SELECT} WHERE s.id", suite_ids).values()]


def of_commit(
    db: Connection, repo_id: int, sha: str, *, app_number: int | None = None
) -> list[int]:
    """Return the ids of a commit's suites: all, or an app's."""
    where, given = _where(repo_id, sha, SuiteFilter(app_number))
    return db.column(f"SELECT s.id FROM check_suite s WHERE {where}", **given)


@dataclass(frozen=True, slots=True)
class SuiteFilter:
    """Which suites of a commit to list: by an app, or with a run of this name."""

    app_number: int | None = None
    check_name: str | None = None


def page(
    db: Connection, repo_id: int, sha: str, chosen: SuiteFilter, *, limit: int, offset: int
) -> list[Row]:
    """Return a page of a commit's suites, by public id."""
    where, given = _where(repo_id, sha, chosen)
    return paging.page(db, f"{SELECT} WHERE {where} ORDER BY s.number", limit, offset, **given)


def count(db: Connection, repo_id: int, sha: str, chosen: SuiteFilter) -> int:
    """Return how many suites `page` can return."""
    where, given = _where(repo_id, sha, chosen)
    return db.number(f"SELECT count(*) FROM check_suite s WHERE {where}", **given)


def _where(repo_id: int, sha: str, chosen: SuiteFilter) -> tuple[str, Row]:
    run = "SELECT 1 FROM check_run c WHERE c.suite_id = s.id AND c.name = :check_name"
    return paging.conditions(
        {
            "s.repo_id = :repo_id": repo_id,
            "s.head_sha = :sha": sha,
            "s.app_number = :app_number": chosen.app_number,
            f"EXISTS ({run})": chosen.check_name,
        }
    )


def of_app(
    db: Connection, repo_id: int, sha: str, app_id: int, branch: str | None = None
) -> tuple[Row, bool]:
    """Return the suite of an app for a commit, and whether it is new.

    `branch` is a branch at the commit.
    """
    found = _of_app(db, repo_id, sha, app_id)
    if found is not None:
        return found, False
    values = {
        "repo_id": repo_id,
        "head_sha": sha,
        "head_branch": branch,
        "after_sha": sha,
        "app_id": app_id,
        "app_number": app_id,
        "status": "queued",
        "created_at": db.now,
        "updated_at": db.now,
    }
    made = external_ids.insert_with_own_id(db, "check_suite", values, "repo_id, head_sha, app_id")
    found = _of_app(db, repo_id, sha, app_id)
    assert found is not None
    return found, made is not None


def _of_app(db: Connection, repo_id: int, sha: str, app_id: int) -> Row | None:
    return db.find(SELECT, repo_id=repo_id, head_sha=sha, app_id=app_id)


def roll_up(db: Connection, suite_id: int) -> tuple[Row, bool]:
    """Compute a suite's status from its latest runs.

    Return the suite, and whether it has completed by that or has another conclusion now. A
    platform's suite keeps the platform's status.
    """
    suite = by_id(db, suite_id)
    if suite["reflected"]:
        return suite, False
    stands = status_of(check_counts.latest(db, suite_id))
    if stands.items() <= suite.items():
        return suite, False
    stands["updated_at"] = db.now
    upsert.update(db, "check_suite", suite, stands)
    return suite | stands, stands["status"] == "completed"


def status_of(sorts: Mapping[check_counts.CheckKind, int]) -> Row:
    """Return the status and conclusion of a suite with these counts of latest runs.

    A run that was requested again counts as queued until it gets a status or a conclusion.
    """
    statuses = {"queued" if sort.asked_again else sort.status for sort in sorts}
    if statuses != {"completed"}:
        moving = "in_progress" in statuses
        return {"status": "in_progress" if moving else "queued", "conclusion": None}
    conclusions = {sort.conclusion for sort in sorts}
    worst = next((one for one in CONCLUSIONS if one in conclusions), None)
    return {"status": "completed", "conclusion": worst}


def put(db: Connection, repo: Row, given: dict[str, Any], event: Row) -> Row | None:
    """Create or update the suite in a payload.

    Return None if the payload is not valid, or if a suite made here has its number. If a source has
    signed an event of the suite, an unsigned event gets None too.
    """
    number = payload_reader.read_field(given, "id", payload_reader.number)
    if number is None:
        return None
    fields = payload_reader.read_fields(given, FIELDS)
    fields |= {"head_sha": fields["head_sha"].lower()} if "head_sha" in fields else {}
    before = get(db, repo["id"], number)
    signed = sources.is_signed(event)
    if before is not None and (not before["reflected"] or before["signed"] > signed):
        return None
    if before is not None and before["signed"] == signed and _is_outdated(before, fields):
        return before
    fields = sources.mark(before, int(signed)) | fields
    fields |= {"pulls": pulls_of(given)} if "pull_requests" in given else {}
    fields |= {"head_commit": head_commits.read(given)} if "head_commit" in given else {}
    fields |= _app(db, repo, given, event)
    if before is None:
        return _add(db, repo["id"], number, fields)
    upsert.update(db, "check_suite", before, fields)
    after: Row = before | fields
    return after


def _is_outdated(before: Row, fields: Row) -> bool:
    """Return whether the payload is older than the stored suite.

    It is older, too, if it is from the second in which the suite completed, but before it. The end
    of the last run and the end of its suite are two events, which can pass each other.
    """
    ended = before["status"] == "completed" and fields.get("status", "completed") != "completed"
    reported_at = fields.get("reported_at")
    same = ended and reported_at is not None and bool(reported_at == before["reported_at"])
    return same or upsert.is_outdated(before, fields)


def _app(db: Connection, repo: Row, given: dict[str, Any], event: Row) -> Row:
    app = check_apps.put(db, repo["id"], given.get("app"), event)
    return {} if app is None else {"foreign_app_id": app["id"], "app_number": app["number"]}


def _add(db: Connection, repo_id: int, number: int, fields: Row) -> Row | None:
    if "head_sha" not in fields:
        return None
    values = {
        "repo_id": repo_id,
        "number": number,
        "reflected": 1,
        "status": "queued",
        "created_at": db.now,
        "updated_at": db.now,
        **fields,
    }
    upsert.insert_if_absent(db, "check_suite", values, "repo_id, number")
    return get(db, repo_id, number)


def pulls_of(given: dict[str, Any]) -> str | None:
    """Return the pull requests in a payload in their stored form, or None."""
    reported = payload_reader.read_object_list(given, "pull_requests")
    if reported is None:
        return None
    found = (each for each in map(_pull, reported) if each is not None)
    return orjson.dumps(payload_reader.within(found, MOST_OF_PULLS)).decode()


def _pull(given: dict[str, Any]) -> Row | None:
    fields: Row = payload_reader.read_fields(given, PULL)
    for end in ("head", "base"):
        reported = payload_reader.read_fields(payload_reader.read_part(given, end), END)
        fields |= {f"{end}_{name}": value for name, value in reported.items()}
    wanted = {"id", "number", "head_ref", "head_sha", "base_ref", "base_sha"}
    return fields if fields.keys() == wanted else None
