"""Projection of concurrency groups in events of workflow runs and jobs.

`workflow_run` and `workflow_job` events may have a member `concurrency`, beside the run or job or
in it:

  group        the group of the run or job; null: none
  status       pending or in_progress: whether it waits for the group or holds it
  queued_at    the time since which it waits
  acquired_at  the time since which it holds the group
  configured   the names of all groups in the run's configuration, used or not
  reusable     the reusable workflows that the run calls and that have their own group, each
               with path, group, status (also released), queued_at and acquired_at; the path
               is the calling job's, in the form of job names: "deploy / eu"
  path         a job's path, if it differs from its name: "deploy / eu / upload"

Without a status, a run or job holds its group once it is in progress. It holds the group until it
has completed. If a run ends, all its parts leave their groups. An event without the member changes
the status alone.
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
    """Defaults for a payload without these fields: times in microseconds, and whether it holds the
    group according to the run's or job's status.
    """

    queued_at: int
    acquired_at: int
    holds: bool = False


def member(payload: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Return the member `concurrency` of the payload, or of the run or job in it."""
    return payload_reader.read_object(payload, "concurrency") or payload_reader.read_part(
        given, "concurrency"
    )


def configured(db: Connection, run: Row, reported: dict[str, Any]) -> None:
    """Store the groups that a run's configuration names."""
    names = reported.get("configured")
    for name in names[:MOST_CONFIGURED] if isinstance(names, list) else ():
        read = NAME(name)
        if read is not payload_reader.INVALID:
            concurrency_members.use(db, run, read)


def called(db: Connection, run: Row, reported: dict[str, Any], event: Row) -> None:
    """Update the groups of the reusable workflows that a run calls."""
    arrived = event["received_at"]
    for each in payload_reader.read_object_list(reported, "reusable") or ():
        path = payload_reader.read_field(each, "path", PATH)
        if path is not None:
            apply_status(
                db, run, GroupMember(run["id"], path=path), each, MemberStatus(arrived, arrived)
            )


def apply_status(
    db: Connection, run: Row, seat: GroupMember, reported: dict[str, Any], else_: MemberStatus
) -> None:
    """Move a member of a run into or out of its group, as the payload says."""
    standing = payload_reader.read_fields(reported, STANDING)
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
