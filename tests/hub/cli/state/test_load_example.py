"""The example of a state document has every field and can be loaded."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from hub.cli.state.base import StateEntry
from hub.cli.state.load import example
from hub.cli.state.models import StateDocument, read
from store import Connection, Row, Store

pytestmark = pytest.mark.usefixtures("url")

WRITTEN = (
    "artifact",
    "assistant_seat",
    "deployment_record",
    "organization_cap",
    "repository_cap",
    "storage_record",
)


def within(value: Any) -> Iterator[StateEntry]:
    """Yield all state entries in a value, and the value if it is one."""
    if isinstance(value, StateEntry):
        yield value
        for name in type(value).model_fields:
            yield from within(getattr(value, name))
    elif isinstance(value, list):
        for each in value:
            yield from within(each)
    elif isinstance(value, dict):
        yield from within(list(value.values()))


def test_the_example_has_every_part_with_every_member():
    there: set[str] = set()
    given: set[str] = set()
    for part in within(read(example())):
        for kind in type(part).__mro__:
            own = getattr(kind, "__annotations__", {}).keys() & type(part).model_fields.keys()
            there |= {f"{kind.__name__}.{name}" for name in own}
            given |= {f"{kind.__name__}.{name}" for name in own & part.model_fields_set}
    assert sorted(there - given) == []
    assert {f"StateDocument.{name}" for name in StateDocument.model_fields} <= given


def written(db: Connection) -> dict[str, list[Row]]:
    """Return the rows of tables that their sections write without looking at them first."""
    return {table: db.all(f"SELECT * FROM {table}") for table in WRITTEN}


def test_loaded_twice_it_changes_nothing_the_second_time(run, store: Store):
    first = json.loads(run("load", "-", "--json", stdin=example()).stdout)["changes"]
    assert {each["outcome"] for each in first} == {"created"}
    parts = yaml.safe_load(example())
    assert len(first) == sum(len(each) for each in parts.values())
    before = store.read_sync(written)
    assert all(before.values())
    second = json.loads(run("load", "-", "--json", stdin=example()).stdout)["changes"]
    assert [each for each in second if each["outcome"] != "unchanged"] == []
    assert len(second) == len(first)
    assert store.read_sync(written) == before


def test_changes_call_things_by_the_names_of_their_sections(run):
    changes = json.loads(run("load", "-", "--json", stdin=example()).stdout)["changes"]
    sections = [name.replace("_", " ") for name in StateDocument.model_fields]
    singular = {
        re.sub("(?<=status)es$|(?<!statu)s$", "", re.sub("ies$", "y", name)) for name in sections
    }
    assert {each["kind"] for each in changes} == singular


def test_the_example_can_be_shown(run):
    assert run("load", "--example").stdout == example()
