"""The parts of a pull request beyond its issue: its head, its base and its merge."""

from collections.abc import Iterable
from typing import Any

from store.accounts import placeholder_accounts
from store.database import payload_reader, row_lookup, upsert
from store.database.connection import Connection, Row, json_array
from store.issues import issues, pull_details

COLUMNS = (
    "p.id, p.issue_id, p.repo_id, i.number, p.foreign_id, p.draft, p.head_ref, p.head_sha,"
    " p.head_repo, p.base_ref, p.base_sha, p.merged_at, p.merged_by_id, p.merge_commit_sha,"
    " p.details, p.reported_at"
)
NAMES = tuple(name.partition(".")[2] for name in COLUMNS.split(", "))
FROM = "FROM pull p JOIN issue i ON i.id = p.issue_id"
# The most pull requests of one branch, and of one commit.
MOST = 20
SHA = payload_reader.text(64)
FIELDS: payload_reader.Readers = {
    "foreign_id": ("id", payload_reader.number),
    "draft": payload_reader.flag,
    "merged_at": payload_reader.nullable(payload_reader.timestamp),
    "merge_commit_sha": payload_reader.nullable(SHA),
    # The issue has another one: comments report it without the head, base and merge.
    "reported_at": ("updated_at", payload_reader.timestamp),
}
END: payload_reader.Readers = {"ref": payload_reader.text(255), "sha": SHA}


def get(db: Connection, repo_id: int, number: int) -> Row | None:
    """Return the pull request with this number as an issue, or None.

    Deleted ones (`deleted_at`) are included.
    """
    row = issues.get(db, repo_id, number)
    return row if row is not None and row["is_pull"] else None


def put(db: Connection, repo: Row, given: dict[str, Any], event: Row) -> int | None:
    """Create or update the pull request in a payload, and its issue.

    Return the issue's id, or None if the payload is not valid.
    """
    # The payload's `id` is the pull request's, which differs from its issue's.
    reported = {**given, "pull_request": {}}
    reported.pop("id", None)
    number = payload_reader.read_field(given, "number", payload_reader.number)
    before = None if number is None else issues.get(db, repo["id"], number, lock=True)
    fields = payload_reader.read_fields(given, issues.FIELDS)
    closed = issues.is_before_closing(before, fields, event)
    own = issues.changed_later(db, before, given, event)
    issue_id = issues.put(db, repo, reported, event)
    if issue_id is not None and not closed:
        kept = {name: value for name, value in given.items() if not own.has(name)}
        _write(db, repo, issue_id, kept)
    return issue_id


def _fields(db: Connection, repo: Row, given: dict[str, Any]) -> Row:
    fields: Row = payload_reader.read_fields(given, FIELDS)
    for end in ("head", "base"):
        reported = payload_reader.read_part(given, end)
        fields |= {
            f"{end}_{key}": value
            for key, value in payload_reader.read_fields(reported, END).items()
        }
    if "repo" in payload_reader.read_part(given, "head"):
        head, base = (_repository(given, end) for end in ("head", "base"))
        # A late payload may call the repository by a former name.
        own = head is not None and base is not None and head.lower() == base.lower()
        fields["head_repo"] = repo["full_name"] if own else head
    merged_by = placeholder_accounts.get_or_create(db, given.get("merged_by"))
    return fields if merged_by is None else {**fields, "merged_by_id": merged_by}


def _repository(given: dict[str, Any], end: str) -> str | None:
    """Return the name of the repository of a payload's head or base, or None."""
    source = payload_reader.read_part(payload_reader.read_part(given, end), "repo")
    found: str | None = payload_reader.read_field(source, "full_name", payload_reader.text(201))
    return found


def _write(db: Connection, repo: Row, issue_id: int, given: dict[str, Any]) -> None:
    before = of_issues(db, [issue_id]).get(issue_id)
    known = "{}" if before is None else before["details"]
    fields = _fields(db, repo, given)
    if upsert.is_outdated(before, fields):
        return
    fields["details"] = pull_details.read(db, given, known)
    if before is not None:
        upsert.update(db, "pull", before, fields)
        return
    ends = {"head_ref": "", "head_sha": "", "base_ref": "", "base_sha": ""}
    values = {"repo_id": repo["id"], "issue_id": issue_id, **ends, **fields}
    upsert.insert_if_absent(db, "pull", values, "issue_id")


def of_issues(db: Connection, issue_ids: Iterable[int]) -> dict[int, Row]:
    """Return issue id to its pull request. Issues that are not pull requests are left out."""
    query = f"SELECT {COLUMNS} {FROM} WHERE p.issue_id"
    return row_lookup.by_id(db, query, issue_ids, column="issue_id")


def of_branch(db: Connection, repo: Row, branch: str, *, most: int = MOST) -> list[Row]:
    """Return the latest pull requests from this branch of the repository, open or not (`state`)."""
    return db.all(
        f"SELECT {COLUMNS}, i.state {FROM} WHERE p.repo_id = :repo_id AND p.head_ref = :branch"
        " AND lower(p.head_repo) = :head_repo AND i.deleted_at IS NULL"
        " ORDER BY p.id DESC LIMIT :most",
        repo_id=repo["id"],
        branch=branch,
        head_repo=repo["full_name"].lower(),
        most=most,
    )


def of_heads(
    db: Connection, repo: Row, shas: Iterable[str], *, own: bool = False
) -> dict[str, list[Row]]:
    """Return commit to the open pull requests that have it as their head, by number.

    These are the latest MOST of each commit. With `own`, pull requests of forks are left out.
    """
    latest = (
        "SELECT o.id FROM pull o JOIN issue n ON n.id = o.issue_id WHERE o.repo_id = :repo_id"
        " AND o.head_sha = w.wanted AND n.state = 'open' AND n.deleted_at IS NULL"
        f"{' AND lower(o.head_repo) = :name' if own else ''} ORDER BY n.number DESC LIMIT :most"
    )
    rows = db.all(
        f"SELECT {COLUMNS} FROM {db.each('shas', wanted='text')} AS w"
        f" {db.lateral('pull', 'h', latest)} JOIN pull p ON p.id = h.id"
        " JOIN issue i ON i.id = p.issue_id ORDER BY i.number",
        repo_id=repo["id"],
        shas=json_array(set(shas)),
        most=MOST,
        **({"name": repo["full_name"].lower()} if own else {}),
    )
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["head_sha"], []).append(row)
    return found
