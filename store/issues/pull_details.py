"""Details of pull requests that platforms report, beyond the branches and the merge.

It is stored as one JSON object. Members that no payload had are left out.
"""

from collections.abc import Mapping
from typing import Any

import orjson

from store.accounts import placeholder_accounts
from store.database import payload_reader
from store.database.connection import Connection, Row

SIZES = ("review_comments", "commits", "additions", "deletions", "changed_files")
FLAGS = ("mergeable", "rebaseable")
METHODS = ("merge", "squash", "rebase")
NAME = payload_reader.text(255, 1)
FIELDS: payload_reader.Readers = {
    **dict.fromkeys(SIZES, payload_reader.number),
    **dict.fromkeys(FLAGS, payload_reader.nullable(payload_reader.flag)),
    "maintainer_can_modify": payload_reader.flag,
    "mergeable_state": payload_reader.text(50, 1),
}
TEAM: payload_reader.Readers = {
    "id": payload_reader.number,
    "name": NAME,
    "slug": NAME,
    "description": payload_reader.nullable(payload_reader.text(1_000)),
    **dict.fromkeys(("privacy", "notification_setting", "permission"), NAME),
}
AUTO_MERGE: payload_reader.Readers = {
    "merge_method": payload_reader.one_of(*METHODS),
    "commit_title": payload_reader.nullable(payload_reader.text(1_024)),
    "commit_message": payload_reader.nullable(payload_reader.text(65_536)),
}


def read(db: Connection, given: dict[str, Any], before: str) -> str:
    """Return the stored details with what a payload changes."""
    found: Row = orjson.loads(before) | payload_reader.read_fields(given, FIELDS)
    reviewers = placeholder_accounts.get_or_create_many(db, given, "requested_reviewers")
    if reviewers is not None:
        found["reviewers"] = [*reviewers]
    teams = payload_reader.read_complete_objects(
        given, "requested_teams", TEAM, {"id", "name", "slug"}
    )
    if teams is not None:
        found["teams"] = teams
    if "auto_merge" in given:
        found["auto_merge"] = _auto_merge(db, given)
    return encode(found)


def encode(details: Mapping[str, Any]) -> str:
    """Return details in their stored form."""
    return orjson.dumps(details, option=orjson.OPT_SORT_KEYS).decode()


def _auto_merge(db: Connection, given: Mapping[str, Any]) -> Row | None:
    reported = payload_reader.read_part(given, "auto_merge")
    by = placeholder_accounts.get_or_create(db, reported.get("enabled_by"))
    found: Row = payload_reader.read_fields(reported, AUTO_MERGE)
    if by is None or "merge_method" not in found:
        return None
    return {"commit_title": None, "commit_message": None, **found, "enabled_by": by}
