"""The members of jobs that the API shows, beyond those that concurrency groups need."""

from typing import Any

import orjson

from store.database import payload_reader
from store.database.connection import Row

# A job has so many steps at most, and so many bytes of steps and labels. Others are left out.
# A page of jobs would be too large otherwise.
MOST_STEPS = 300
MOST_OF_STEPS, MOST_OF_LABELS = 50_000, 5_000
NAME = payload_reader.nullable(payload_reader.text(255))
CONCLUSION = payload_reader.nullable(payload_reader.text(50))
TIME = payload_reader.nullable(payload_reader.timestamp)
COLUMNS: payload_reader.Readers = {
    "conclusion": CONCLUSION,
    "created_at": payload_reader.timestamp,
}


def _labels(value: Any) -> Any:
    """Read the names in a list."""
    if not isinstance(value, list):
        return payload_reader.INVALID
    read = payload_reader.text(255, 1)
    names = map(read, value[: payload_reader.MOST_PARTS])
    found = (name for name in names if name is not payload_reader.INVALID)
    return payload_reader.within(found, MOST_OF_LABELS)


DETAILS: payload_reader.Readers = {
    "started_at": TIME,
    "completed_at": TIME,
    "labels": _labels,
    "runner_id": payload_reader.nullable(payload_reader.number),
    "runner_name": NAME,
    "runner_group_id": payload_reader.nullable(payload_reader.number),
    "runner_group_name": NAME,
}
STEP: payload_reader.Readers = {
    "name": payload_reader.text(255, 1),
    "status": payload_reader.text(50, 1),
    "conclusion": CONCLUSION,
    "number": payload_reader.number,
    "started_at": TIME,
    "completed_at": TIME,
}
REQUIRED = {"name", "status", "number"}


def read(given: dict[str, Any], known: dict[str, Any]) -> Row:
    """Return the columns of a job in a payload. Known details that it does not have stay."""
    fields: Row = payload_reader.read_fields(given, COLUMNS)
    details = known | payload_reader.read_fields(given, DETAILS)
    steps = payload_reader.read_complete_objects(given, "steps", STEP, REQUIRED, MOST_STEPS)
    if steps is not None:
        details["steps"] = payload_reader.within(steps, MOST_OF_STEPS)
    return fields | {"details": orjson.dumps(details, option=orjson.OPT_SORT_KEYS).decode()}
