"""A key that an entry leaves out keeps its value, unless the manual says otherwise."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
import yaml
from engines import embedded
from pydantic import ValidationError

from hub.cli.state.base import StateEntry
from hub.cli.state.load import example
from hub.cli.state.models import StateDocument
from store import Connection, Store
from store.errors import Invalid

# With these members, each optional key of the example has a value that is not its default.
OTHER = """
users: [{}, {site_admin: true}]
repositories:
  - {private: true, fork: true, archived: true, disabled: true, is_template: true,
     has_issues: false, has_projects: true, has_wiki: true, has_pages: true, has_discussions: true,
     mirror_url: "https://mirror.example/bells", default_branch: trunk}
apps: [{public: false, hook: {content_type: form, insecure_ssl: true, active: false}}]
installations: [{suspended: true}]
hooks: [{insecure_ssl: true, active: false}]
pull_requests:
  - {state_reason: completed, assignees: [eve], labels: [bug], milestone: 1, locked: true,
     lock_reason: spam, comments: 3, draft: true,
     created_at: 2026-02-01T10:00:00Z, closed_at: 2026-02-03T10:00:00Z}
workflow_runs: [{attempt: 2, jobs: [{status: waiting}]}]
devenv_locations: [{default: true}]
devenv_machines: [{operating_system: windows, offered: false}]
devenv_policies: [{prebuilds: [{availability: in_progress}]}]
teams: [{privacy: secret}]
assistant_subscriptions:
  - {plan: enterprise, payable: false, seat_management: assign_all, public_code: allow,
     ide_chat: disabled, platform_chat: disabled}
secret_patterns: [{default_setting: enabled}]
deployment_records: [{status: decommissioned}]
storage_records: [{status: eol}]
"""
# Lists that replace the present ones, and sections whose entries replace things, as a whole.
WHOLE = {
    "check_runs.actions",
    "check_runs.output.annotations",
    "check_runs.output.images",
    "issue_events",
    "issue_fields.options",
    "rule_suites.rule_evaluations",
    "usage",
}
# Without one of these keys, an entry is about another thing.
IDENTIFYING = {
    "commit_statuses.context",
    "deployment_records.cluster",
    "deployment_records.physical_environment",
    "devenv_policies.restrictions.ref",
    "hooks.organization",
    "hooks.repository",
    "issue_comments.kind",
    "repositories.license_file.branch",
    "storage_records.path",
    "storage_records.registry_repository",
    "tokens.app",
}
# Without this key, its value follows from others of the entry.
DERIVED = {"rule_suites.result"}

Place = tuple[str | int, ...]


def merged(value: Any, other: Any) -> Any:
    """Return a part of a document with the members of another part."""
    if isinstance(value, dict):
        return value | {name: merged(value.get(name), each) for name, each in other.items()}
    if isinstance(value, list) and isinstance(other[0], dict):
        return [*map(merged, value, other), *value[len(other) :]]
    return other


def dotted(place: Place) -> str:
    """Return a place without the numbers of entries, such as `hooks.url`."""
    return ".".join(part for part in place if isinstance(part, str))


def optional_keys(place: Place, value: Any) -> Iterator[tuple[Place, bool]]:
    """Yield the place of each optional key, and whether its value differs from its default."""
    if isinstance(value, list) and dotted(place) not in WHOLE:
        for number, each in enumerate(value):
            yield from optional_keys((*place, number), each)
    elif isinstance(value, StateEntry):
        for name, field in type(value).model_fields.items():
            given = getattr(value, name)
            if place and not field.is_required():
                yield (*place, name), given != field.get_default(call_default_factory=True)
            yield from optional_keys((*place, name), given)


def without(document: dict[str, Any], place: Place) -> dict[str, Any]:
    """Return a document with one entry of this one, which leaves out the key at the place."""
    section, number, *around, name = place
    entry = deepcopy(document[str(section)][number])
    part = entry
    for each in around:
        part = part[each]
    del part[name]
    return {str(section): [entry]}


def stored(db: Connection, ignored: str = "updated_at") -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows of all tables, without a column: usually the time of the last update."""
    columns: dict[str, list[str]] = {}
    for table, column in db.tuples(
        "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c"
        " WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%' AND c.name <> :ignored",
        ignored=ignored,
    ):
        columns.setdefault(table, []).append(f'"{column}"')
    return {
        table: sorted(db.tuples(f"SELECT {', '.join(names)} FROM {table}"), key=repr)
        for table, names in columns.items()
    }


def changes(db: Connection, document: dict[str, Any], before: dict[str, Any]) -> list[str]:
    """Return the tables that a document changes, or the reason why it is refused. Undo it.

    An entry that lacks something, such as its identity, changes nothing.
    """
    db.execute("SAVEPOINT before")
    try:
        StateDocument.model_validate(document).apply(db)
        after = stored(db)
    except ValidationError:
        return []
    except Invalid as error:
        return [str(error)]
    finally:
        db.execute("ROLLBACK TO before")
    return [table for table, rows in before.items() if rows != after[table]]


@pytest.fixture(scope="module")
def document() -> Any:
    return merged(yaml.safe_load(example()), yaml.safe_load(OTHER))


def test_each_optional_key_has_a_value_that_is_not_its_default(document: Any) -> None:
    keys = [*optional_keys((), StateDocument.model_validate(document))]
    tried = {dotted(place) for place, differs in keys if differs}
    assert {dotted(place) for place, _ in keys} - tried == set()


@embedded("the list of all tables and columns is SQLite's")
def test_a_left_out_key_keeps_its_value(run: Any, store: Store, document: Any) -> None:
    run("load", "-", stdin=yaml.safe_dump(document))
    keys = optional_keys((), StateDocument.model_validate(document))
    places = [place for place, differs in keys if differs]

    def sweep(db: Connection) -> list[tuple[str, list[str]]]:
        before = stored(db)
        return [(dotted(each), changes(db, without(document, each), before)) for each in places]

    changed = [(name, what) for name, what in store.write_sync(sweep) if what]
    assert [each for each in changed if each[0] not in IDENTIFYING | DERIVED] == []
    assert {name for name, _ in changed} == IDENTIFYING | DERIVED


@embedded("the list of all tables and columns is SQLite's")
def test_a_document_that_is_loaded_again_changes_no_row(
    run: Any, store: Store, document: Any
) -> None:
    text = yaml.safe_dump(document)
    run("load", "-", stdin=text)
    before = store.read_sync(stored, "")
    run("load", "-", stdin=text)
    after = store.read_sync(stored, "")
    assert [table for table, rows in before.items() if rows != after[table]] == ["audit"]
