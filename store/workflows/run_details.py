"""The members of workflow runs that the API shows, beyond those that concurrency groups need."""

from typing import Any

import orjson

from store.accounts import placeholder_accounts
from store.checks import check_suites
from store.database import payload_reader
from store.database.connection import Connection, Row
from store.repositories import head_commits

MOST_OF_CALLED = 10_000
"""The limit of the bytes of the workflows that a run calls. Others are left out."""
SHA = payload_reader.text(64, 1)
COLUMNS: payload_reader.Readers = {
    "conclusion": payload_reader.nullable(payload_reader.text(50)),
    "event": payload_reader.text(100, 1),
    "head_branch": payload_reader.nullable(payload_reader.text(255)),
    "head_sha": SHA,
    "suite_number": ("check_suite_id", payload_reader.number),
    "workflow_number": ("workflow_id", payload_reader.number),
}
DETAILS: payload_reader.Readers = {
    "path": payload_reader.text(1_000, 1),
    "run_number": payload_reader.number,
    "display_title": payload_reader.text(1_000),
    "run_started_at": payload_reader.timestamp,
}
CALLED: payload_reader.Readers = {
    "path": payload_reader.text(1_000, 1),
    "sha": SHA,
    "ref": payload_reader.text(300),
}


def read(db: Connection, given: dict[str, Any], before: Row | None) -> Row:
    """Return the columns of a run in a payload. Details that it does not have stay as before."""
    fields: Row = payload_reader.read_fields(given, COLUMNS)
    actor_id = placeholder_accounts.get_or_create(db, given.get("actor"))
    if actor_id is not None:
        fields["actor_id"] = actor_id
    known = {} if before is None else orjson.loads(before["details"])
    details = known | _details(db, given)
    return fields | {"details": orjson.dumps(details, option=orjson.OPT_SORT_KEYS).decode()}


def _details(db: Connection, given: dict[str, Any]) -> Row:
    found: Row = payload_reader.read_fields(given, DETAILS)
    triggering = placeholder_accounts.get_or_create(db, given.get("triggering_actor"))
    if triggering is not None:
        found["triggering_actor_id"] = triggering
    head, own = (_repository(given, name) for name in ("head_repository", "repository"))
    if head is not None:
        # The run's own repository may get another name, and another repository this one.
        found["head_repo"] = None if own is not None and head.lower() == own.lower() else head
    found |= {"pulls": check_suites.pulls_of(given)} if "pull_requests" in given else {}
    found |= {"head_commit": head_commits.read(given)} if "head_commit" in given else {}
    called = payload_reader.read_complete_objects(
        given, "referenced_workflows", CALLED, {"path", "sha"}
    )
    if called is not None:
        found["called"] = payload_reader.within(called, MOST_OF_CALLED)
    return found


def _repository(given: dict[str, Any], name: str) -> str | None:
    source = payload_reader.read_part(given, name)
    found: str | None = payload_reader.read_field(source, "full_name", payload_reader.text(201, 3))
    return found
