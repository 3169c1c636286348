"""Rule suites: the results of a repository's or organization's rules at a push.

They arrive in an event's member `rule_suite`, in the form of the API's response with all
evaluations, or from a state document. An event about a push that a rule rejected may have any name,
because the platform has none for it.
"""

from dataclasses import dataclass
from typing import Any

import orjson

from store.accounts import placeholder_accounts
from store.accounts.viewers import RepositoryViewer, may_see
from store.database import paging, payload_reader, upsert
from store.database.connection import Connection, Row
from store.repositories import refs

COLUMNS = (
    "s.id, s.number, s.repo_id, s.owner_id, s.actor_id, s.before_sha, s.after_sha, s.ref,"
    " s.ref_name, s.pushed_at, s.result, s.evaluation_result, s.active, s.evaluated, s.evaluations,"
    " r.name AS repository_name, a.login AS actor_name"
)
FROM = (
    "FROM rule_suite s JOIN repository r ON r.id = s.repo_id"
    " LEFT JOIN account a ON a.id = s.actor_id"
)
PREFIXES = (refs.BRANCHES, refs.TAGS)
RESULTS = ("pass", "fail", "bypass")
FIELDS = {
    "before_sha": payload_reader.text(64),
    "after_sha": payload_reader.text(64),
    "ref": payload_reader.text(300, 1),
    "pushed_at": payload_reader.timestamp,
    "result": payload_reader.one_of(*RESULTS),
    "evaluation_result": payload_reader.nullable(payload_reader.one_of(*RESULTS)),
}
EVALUATION = {
    "enforcement": payload_reader.one_of("active", "evaluate", "deleted ruleset"),
    "result": payload_reader.one_of("pass", "fail"),
    "rule_type": payload_reader.text(100, 1),
    "details": payload_reader.nullable(payload_reader.text(2_000)),
}
SOURCE = {
    "type": payload_reader.text(100, 1),
    "id": payload_reader.nullable(payload_reader.number),
    "name": payload_reader.nullable(payload_reader.text(255)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSuiteFilter:
    """A filter for rule suites of an organization (`owner_id`) or a repository.

    `since` is the earliest push. `ref` is a full name, or a short one for branches and tags alike.
    `active` and `evaluated` select suites with rules in force or on trial.
    """

    since: int
    owner_id: int | None = None
    repo_id: int | None = None
    ref: str | None = None
    actor_id: int | None = None
    result: str | None = None
    active: bool = False
    evaluated: bool = False
    viewer: RepositoryViewer | None = None
    """The viewer who must be able to see the repositories, or None for all repositories."""

    def where(self, db: Connection) -> tuple[str, Row]:
        """Return the SQL condition and its parameters."""
        ref_column = "ref" if self.ref is not None and self.ref.startswith(PREFIXES) else "ref_name"
        where, given = paging.conditions(
            {
                "s.pushed_at >= :since": self.since,
                "s.owner_id = :owner_id": None if self.repo_id is not None else self.owner_id,
                "s.repo_id = :repo_id": self.repo_id,
                f"s.{ref_column} = :ref": self.ref,
                "s.actor_id = :actor_id": self.actor_id,
                "s.result = :result": self.result,
                "s.active = 1": self.active,
                "s.evaluated = 1": self.evaluated,
            }
        )
        if self.viewer is None:
            return where, given
        shown, more = _visible_to(db, self.viewer)
        return f"{where} AND {shown}", given | more


def get(db: Connection, repo_id: int, number: int) -> Row | None:
    """Return the repository's suite with this number, or None.

    `evaluations` is a list. The row also has `repository_name` and `actor_name` (None if unknown).
    """
    return _read(
        db.one(
            f"SELECT {COLUMNS} {FROM} WHERE s.repo_id = :repo_id AND s.number = :number",
            repo_id=repo_id,
            number=number,
        )
    )


def in_organization(
    db: Connection, organization_id: int, number: int, *, viewer: RepositoryViewer | None = None
) -> Row | None:
    """Return the suite with this number in a repository of the organization, or None.

    With a viewer, the repository must be visible to it.
    """
    shown, given = ("1 = 1", {}) if viewer is None else _visible_to(db, viewer)
    return _read(
        db.one(
            f"SELECT {COLUMNS} {FROM} WHERE s.owner_id = :owner_id AND s.number = :number"
            f" AND {shown} ORDER BY s.id LIMIT 1",
            owner_id=organization_id,
            number=number,
            **given,
        )
    )


def _visible_to(db: Connection, viewer: RepositoryViewer) -> tuple[str, Row]:
    """Return SQL for: the viewer may see the suite's repository. Also return its parameters."""
    shown, given = may_see(db, viewer)
    return (
        "EXISTS (SELECT 1 FROM repository r JOIN account a ON a.id = r.owner_id"
        f" WHERE r.id = s.repo_id AND {shown})",
        given,
    )


def _read(row: Row | None) -> Row | None:
    if row is not None:
        row["evaluations"] = orjson.loads(row["evaluations"])
    return row


def page(db: Connection, chosen: RuleSuiteFilter, *, limit: int, offset: int) -> list[Row]:
    """Return the selected suites, latest push first, without their evaluations."""
    where, given = chosen.where(db)
    return paging.page(
        db,
        f"SELECT {COLUMNS} {FROM} WHERE {where} ORDER BY s.pushed_at DESC, s.id DESC",
        limit,
        offset,
        **given,
    )


def count(db: Connection, chosen: RuleSuiteFilter, most: int) -> int:
    """Return how many suites are selected, counted up to `most`."""
    where, given = chosen.where(db)
    return paging.count(db, f"SELECT 1 FROM rule_suite s WHERE {where}", most, **given)


def put(db: Connection, repo: Row, given: dict[str, Any], event: Row) -> None:
    """Create or update the suite in a payload. Ignore an invalid one."""
    number = payload_reader.read_field(given, "id", payload_reader.number)
    if number is None:
        return
    fields = payload_reader.read_fields(given, FIELDS)
    if "ref" in fields:
        fields["ref_name"] = short(fields["ref"])
    actor_id = (
        placeholder_accounts.get_or_create(db, {"login": given.get("actor_name")})
        or event["sender_id"]
    )
    if actor_id is not None:
        fields["actor_id"] = actor_id
    reported = payload_reader.read_object_list(given, "rule_evaluations")
    if reported is not None:
        fields |= _evaluated([one for one in map(_evaluation, reported) if one is not None], fields)
    _write(db, repo, number, fields, event)


def short(ref: str) -> str:
    """Return a ref's name without the prefix of branches or tags."""
    return next((ref.removeprefix(prefix) for prefix in PREFIXES if ref.startswith(prefix)), ref)


def _evaluation(given: dict[str, Any]) -> Row | None:
    fields: Row = payload_reader.read_fields(given, EVALUATION)
    source = payload_reader.read_fields(payload_reader.read_part(given, "rule_source"), SOURCE)
    if not {"enforcement", "result", "rule_type"} <= fields.keys() or "type" not in source:
        return None
    source = {name: value for name, value in source.items() if value is not None}
    return {"rule_source": source, "details": None, **fields}


def _evaluated(evaluations: list[Row], fields: Row) -> Row:
    """Return the fields that follow from the evaluations and are not in the payload."""
    kinds = {one["enforcement"] for one in evaluations}
    found = {
        "evaluations": orjson.dumps(evaluations).decode(),
        "active": int("active" in kinds),
        "evaluated": int("evaluate" in kinds),
    }
    for column, kind in (("result", "active"), ("evaluation_result", "evaluate")):
        results = {one["result"] for one in evaluations if one["enforcement"] == kind}
        if column not in fields and results:
            found[column] = "fail" if "fail" in results else "pass"
    return found


def _write(db: Connection, repo: Row, number: int, fields: Row, event: Row) -> None:
    before = db.one(
        f"SELECT {COLUMNS} {FROM} WHERE s.repo_id = :repo_id AND s.number = :number",
        repo_id=repo["id"],
        number=number,
    )
    if before is not None:
        upsert.update(db, "rule_suite", before, fields)
    elif {"ref", "before_sha", "after_sha"} <= fields.keys():
        values = {
            "repo_id": repo["id"],
            "owner_id": repo["owner_id"],
            "number": number,
            "pushed_at": event["received_at"],
            "result": "pass",
            "active": 1,
            "evaluated": int(fields.get("evaluation_result") is not None),
            "evaluations": "[]",
            **fields,
        }
        upsert.insert_if_absent(db, "rule_suite", values, "repo_id, number")
