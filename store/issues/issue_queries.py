"""Lists of a repository's issues, pull requests among them, by filters."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from store.database import paging
from store.database.connection import Connection, Row, json_array, prefixed
from store.database.patterns import plain_lower
from store.issues import issues

COLUMNS = prefixed("i", issues.COLUMNS)
ANY, NONE = "*", "none"
ORDERS = {"created": "created_at", "updated": "updated_at", "comments": "comments"}


@dataclass(frozen=True, slots=True)
class IssueFilter:
    """Which issues of a repository to list, and in which order.

    `assignee`, `type` and `milestone` may be ANY or NONE. All `labels` must be on the issue.
    """

    state: str | None = None
    assignee: str | None = None
    creator: str | None = None
    mentioned: str | None = None
    type: str | None = None
    milestone: int | str | None = None
    labels: Sequence[str] = ()
    fields: Sequence[tuple[str, str]] = ()
    """Names of issue fields that everybody may see, and the wanted values."""
    since: int | None = None
    sort: str = "created"
    ascending: bool = False

    @property
    def order(self) -> str:
        how = "ASC" if self.ascending else "DESC"
        return f"i.{ORDERS[self.sort]} {how}, i.id {how}"


def page(
    db: Connection, repo_id: int, chosen: IssueFilter, *, limit: int, offset: int
) -> list[Row]:
    where, given = _where(db, repo_id, chosen)
    return paging.page(
        db,
        f"SELECT {COLUMNS} FROM issue i WHERE {where} ORDER BY {chosen.order}",
        limit,
        offset,
        **given,
    )


def count(db: Connection, repo_id: int, chosen: IssueFilter, most: int) -> int:
    """Return how many issues there are, counted up to `most`."""
    where, given = _where(db, repo_id, chosen)
    return paging.count(db, f"SELECT i.id FROM issue i WHERE {where}", most, **given)


def _where(db: Connection, repo_id: int, chosen: IssueFilter) -> tuple[str, Row]:
    parts = ["i.repo_id = :repo_id", "i.deleted_at IS NULL", "i.moved_to IS NULL"]
    given: Row = {"repo_id": repo_id}
    for sql, values in _conditions(db, chosen):
        parts.append(sql)
        given |= values
    return " AND ".join(parts), given


def _conditions(db: Connection, chosen: IssueFilter) -> Iterator[tuple[str, Row]]:
    if chosen.state is not None:
        yield "i.state = :state", {"state": chosen.state}
    if chosen.since is not None:
        yield "i.updated_at >= :since", {"since": chosen.since}
    if chosen.creator is not None:
        yield f"i.author_id = {_account('creator')}", {"creator": chosen.creator.lower()}
    if chosen.mentioned is not None:
        yield _mentions(), {"mentioned": chosen.mentioned.lower()}
    if chosen.assignee is not None:
        yield _assigned(chosen.assignee)
    if chosen.type is not None:
        yield _one_or_none("i.type_key", "type", chosen.type.lower())
    if chosen.milestone is not None:
        yield _due(chosen.milestone)
    if chosen.labels:
        yield _labelled(db), {"labels": json_array({name.lower() for name in chosen.labels})}
    if chosen.fields:
        yield _filled(db), {"fields": json_array(_spelled(*one) for one in chosen.fields)}


def _account(name: str) -> str:
    return f"(SELECT a.id FROM account a WHERE a.login_key = :{name})"


def _mentions() -> str:
    return (
        "EXISTS (SELECT 1 FROM issue_event e WHERE e.issue_id = i.id AND e.kind = 'mentioned'"
        f" AND e.actor_id = {_account('mentioned')})"
    )


def _one_or_none(column: str, name: str, wanted: Any) -> tuple[str, Row]:
    if wanted in (ANY, NONE):
        return f"{column} IS {'NOT ' if wanted == ANY else ''}NULL", {}
    return f"{column} = :{name}", {name: wanted}


def _assigned(wanted: str) -> tuple[str, Row]:
    held = "EXISTS (SELECT 1 FROM issue_assignee s WHERE s.issue_id = i.id"
    if wanted in (ANY, NONE):
        return f"{'NOT ' if wanted == NONE else ''}{held})", {}
    return f"{held} AND s.account_id = {_account('assignee')})", {"assignee": wanted.lower()}


def _due(wanted: int | str) -> tuple[str, Row]:
    if isinstance(wanted, str):
        return _one_or_none("i.milestone_id", "milestone", wanted)
    found = "(SELECT m.id FROM milestone m WHERE m.repo_id = :repo_id AND m.number = :milestone)"
    return f"i.milestone_id = {found}", {"milestone": wanted}


def _labelled(db: Connection) -> str:
    """Return SQL for: none of the wanted labels is missing."""
    return (
        f"NOT EXISTS (SELECT 1 FROM {db.each('labels', wanted='text')} AS w WHERE NOT EXISTS"
        " (SELECT 1 FROM issue_label t JOIN label l ON l.id = t.label_id"
        " WHERE t.issue_id = i.id AND l.name_key = w.wanted))"
    )


def _filled(db: Connection) -> str:
    """Return SQL for: every wanted issue field has its value, or that option is chosen."""
    columns = dict.fromkeys(("name", "value", "quoted", "plain"), "text")
    return (
        f"NOT EXISTS (SELECT 1 FROM {db.each('fields', **columns)} AS w WHERE NOT EXISTS"
        " (SELECT 1 FROM issue_field_value v JOIN issue_field f ON f.id = v.field_id"
        " WHERE v.issue_id = i.id AND f.visibility = 'all' AND f.name_key = w.name"
        " AND (lower(v.value) IN (w.value, w.quoted, w.plain)"
        " OR EXISTS (SELECT 1 FROM issue_field_choice c JOIN issue_field_option o"
        " ON o.id = c.option_id WHERE c.value_id = v.id AND o.name_key = w.value))))"
    )


def _spelled(name: str, value: str) -> tuple[str, ...]:
    # The stored values are JSON: texts have quotes, and numbers have none. Some databases know the
    quoted = (orjson.dumps(text).decode() for text in (value.lower(), plain_lower(value)))
    return name.lower(), value.lower(), *quoted
