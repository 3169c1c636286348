"""What events of workflow runs and jobs say of concurrency groups.

`workflow_run` and `workflow_job` events have a member `concurrency` here, beside the run or job or
within it:

    group        the group of the run, or of the job; null: none
    status       pending or in_progress: whether it waits for the group or holds it
    queued_at    since when it waits
    acquired_at  since when it holds the group
    configured   names of all groups in the run's configuration, whether they are entered or not
    reusable     the reusable workflows that the run calls and that have a group of their own, each
                 with path, group, status (released, too), queued_at and acquired_at; its path is
                 that of the job that calls it, in the way jobs are named: "deploy / eu"
    path         of a job, where that is not its name: "deploy / eu / upload"

Without a status, a run or job holds its group once it is in progress. What holds a group does so
until it has completed; with a run end all that it has. An event without the member tells of the
status alone.
"""

from dataclasses import dataclass
from typing import Any

from store.database import payload_reader
from store.database.connection import Connection, Row
from store.workflows import concurrency_members
from store.workflows.concurrency_members import MOST_NAME, GroupMember

NAME = payload_reader.text(MOST_NAME, 1)
PATH = payload_reader.text(1_000, 1)
OVER = ("released", "completed")
STANDING = {
    "group": payload_reader.nullable(NAME),
    "status": payload_reader.one_of("pending", "in_progress", *OVER),
    "queued_at": payload_reader.timestamp,
    "acquired_at": payload_reader.timestamp,
}
MOST_CONFIGURED = 1_000


@dataclass(frozen=True, slots=True)
class MemberStatus:
    """What holds where nothing is told: since when it waits, or has its group, and whether it does
    by its status.
    """

    queued_at: int
    acquired_at: int
    holds: bool = False


def member(payload: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """The member of an event's payload, or of the run or job in it."""
    return (
        payload_reader.read_object(payload, "concurrency")
        or payload_reader.read_object(given, "concurrency")
        or {}
    )


def configured(db: Connection, run: Row, told: dict[str, Any]) -> None:
    """Take up the groups that a run's configuration names."""
    names = told.get("configured")
    for name in names[:MOST_CONFIGURED] if isinstance(names, list) else ():
        read = NAME(name)
        if read is not payload_reader.INVALID:
            concurrency_members.use(db, run, read)


def called(db: Connection, run: Row, told: dict[str, Any], event: Row) -> None:
    """Take up the reusable workflows that a run calls."""
    arrived = event["received_at"]
    for each in payload_reader.read_object_list(told, "reusable") or ():
        path = payload_reader.read_field(each, "path", PATH)
        if path is not None:
            apply_status(
                db, run, GroupMember(run["id"], path=path), each, MemberStatus(arrived, arrived)
            )


def apply_status(
    db: Connection, run: Row, seat: GroupMember, told: dict[str, Any], else_: MemberStatus
) -> None:
    """Let what has this seat of a run be where it is told to be."""
    standing = payload_reader.read_fields(told, STANDING)
    name, status = standing.get("group"), standing.get("status")
    if status in OVER or ("group" in standing and name is None):
        concurrency_members.leave(db, seat)
        if name is not None:
            concurrency_members.use(db, run, name)
        return
    holds = else_.holds if status is None else status == "in_progress"
    when = "acquired_at" if holds else "queued_at"
    since = standing.get(when, getattr(else_, when))
    if name is not None:
        concurrency_members.enter(db, run, seat, name, holds=holds, since=since)
    elif holds:
        concurrency_members.acquire(db, seat, since)
