"""Workflows, as the events of their runs have reported them."""

import re
from typing import Any

from store.database import paging, payload_reader, upsert
from store.database.connection import Connection, Row

COLUMNS = "id, repo_id, number, name, path, file_name, state, created_at, reported_at"
STATES = ("active", "deleted", "disabled_fork", "disabled_inactivity", "disabled_manually")
UNKNOWN: Row = {
    "number": 0,
    "name": "",
    "path": "",
    "file_name": "",
    "state": "deleted",
    "created_at": 0,
    "reported_at": None,
}
"""In place of the workflow of runs for which no event has named one.

A client that does not find the workflow of one run lists no run at all.
"""
NUMBER = re.compile(r"[0-9]{1,18}")
MOST_NAME = 255
NAME = payload_reader.text(MOST_NAME, 1)
PATH = payload_reader.text(1_000, 1)
WORKFLOW: payload_reader.Readers = {
    "number": ("id", payload_reader.positive),
    "name": NAME,
    "path": PATH,
    "state": payload_reader.one_of(*STATES),
    "created_at": payload_reader.timestamp,
    "reported_at": ("updated_at", payload_reader.timestamp),
}
# The members of a run that describe its workflow.
OF_RUN: payload_reader.Readers = {
    "number": ("workflow_id", payload_reader.positive),
    "name": NAME,
    "path": PATH,
    "created_at": payload_reader.timestamp,
}


def find(db: Connection, repo_id: int, key: str) -> Row | None:
    """Return the repository's workflow with this id on the platform or this file name, or None.

    The id 0 is UNKNOWN's.
    """
    if NUMBER.fullmatch(key):
        return _get(db, repo_id, int(key)) if int(key) else UNKNOWN
    return db.one(
        f"SELECT {COLUMNS} FROM workflow WHERE repo_id = :repo_id AND file_name = :key"
        " ORDER BY number DESC LIMIT 1",
        repo_id=repo_id,
        key=key,
    )


def _get(db: Connection, repo_id: int, number: int) -> Row | None:
    return db.find(f"SELECT {COLUMNS} FROM workflow", repo_id=repo_id, number=number)


def page(db: Connection, repo_id: int, *, limit: int, offset: int) -> list[Row]:
    """Return a page of a repository's workflows, in the order of their ids."""
    sql = f"SELECT {COLUMNS} FROM workflow WHERE repo_id = :repo_id ORDER BY number"
    return paging.page(db, sql, limit, offset, repo_id=repo_id)


def count(db: Connection, repo_id: int) -> int:
    return db.number("SELECT count(*) FROM workflow WHERE repo_id = :repo_id", repo_id=repo_id)


def report(db: Connection, repo_id: int, given: dict[str, Any], run: dict[str, Any]) -> None:
    """Store the workflow in an event. If the event has none, its run describes an unknown one."""
    fields = payload_reader.read_fields(given, WORKFLOW)
    known = "number" in fields
    if not known:
        fields = payload_reader.read_fields(run, OF_RUN)
    if "number" not in fields:
        return
    if "path" in fields:
        if not known:
            # The path in a run may end with the ref that it ran at.
            fields["path"] = fields["path"].partition("@")[0]
        # PostgreSQL cannot index all names that a path may end with.
        fields["file_name"] = fields["path"].rpartition("/")[2][:MOST_NAME]
    before = _get(db, repo_id, fields["number"])
    if before is None:
        unsaid = {"name": fields.get("path", ""), "path": "", "file_name": "", "created_at": db.now}
        values = {"repo_id": repo_id, **unsaid, **fields}
        upsert.insert_if_absent(db, "workflow", values, "repo_id, number")
    elif known and not upsert.is_outdated(before, fields):
        upsert.update(db, "workflow", before, fields)
