"""UUIDs of version 7: their format, their uniqueness, and their order by time."""

import uuid
from datetime import UTC, datetime

import pytest

from store.database import uuid7


def test_an_id_is_a_uuid_that_begins_with_the_time() -> None:
    before = datetime.now(UTC).timestamp()
    text = uuid7.new()
    made = uuid.UUID(text)
    assert str(made) == text
    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    assert before - 0.001 <= (made.int >> 80) / 1000 <= datetime.now(UTC).timestamp()


def test_none_is_made_twice() -> None:
    assert len({uuid7.new() for _ in range(20_000)}) == 20_000


def test_later_ids_are_greater(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = [1_000_000 * number for number in range(1_700_000_000_000, 1_700_000_000_100)]
    made = []
    for moment in moments:
        monkeypatch.setattr(uuid7.time, "time_ns", lambda moment=moment: moment)
        made.append(uuid7.new())
    assert made == sorted(made)
