"""Usage in the store: one row for each combination, limited names, and the activity of seats."""

import pytest
from usage_world import Using, using

from store import Connection, Row, Store
from store.assistant import assistant_seats, usage, usage_days, usage_names
from store.clock import DAY, parse
from store.errors import Invalid

TODAY, BEFORE = "2026-11-21", "2026-11-20"


@pytest.fixture
def globe(store: Store) -> Using:
    return store.write_sync(using)


def kept(store: Store) -> list[Row]:
    return store.read_sync(lambda db: db.all("SELECT * FROM usage ORDER BY id"))


def days(store: Store) -> dict[str, tuple[int, int]]:
    rows = store.read_sync(lambda db: db.all("SELECT * FROM usage_day"))
    return {usage_days.iso(row["day"]): (row["version"], row["made_version"]) for row in rows}


def test_the_last_word_of_a_combination_counts(store: Store, globe: Using) -> None:
    twice = [globe.row(BEFORE, lines=1), globe.row(BEFORE, lines=2)]
    assert store.write_sync(usage.record, twice) == 1
    assert [row["lines"] for row in kept(store)] == [2]
    assert store.write_sync(usage.record, twice) == 0
    assert days(store) == {BEFORE: (1, 0)}
    assert store.write_sync(usage.record, [globe.row(BEFORE, lines=3), globe.row(TODAY)]) == 2
    assert [row["lines"] for row in kept(store)] == [3, 0]
    assert days(store) == {BEFORE: (2, 0), TODAY: (1, 0)}


def test_each_combination_is_one(store: Store, globe: Using) -> None:
    rows = [
        globe.row(BEFORE),
        globe.row(BEFORE, globe.ben),
        globe.row(BEFORE, editor="vim"),
        globe.row(BEFORE, language="vim"),
        globe.row(BEFORE, model="m"),
        globe.row(BEFORE, repo_id=globe.tools["id"]),
        globe.row(BEFORE, team_id=globe.ops["id"]),
    ]
    assert store.write_sync(usage.record, rows) == len(rows)
    assert store.write_sync(usage.record, rows) == 0
    named = sorted(store.read_sync(usage_names.list_all, globe.enterprise["id"]).values())
    assert named == ["m", "vim", "vim"]


def test_too_many_names(store: Store, globe: Using, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage_names, "MOST", 2)
    store.write_sync(usage.record, [globe.row(BEFORE, editor=each) for each in ("a", "b", "a", "")])
    with pytest.raises(Invalid, match="at most 2 different names of editors"):
        store.write_sync(usage.record, [globe.row(BEFORE, editor="c")])
    assert len(kept(store)) == 3
    # The limit holds for each kind of name and each enterprise separately.
    other = store.write_sync(using, "moon")
    store.write_sync(usage.record, [globe.row(BEFORE, language="c"), other.row(BEFORE, editor="c")])


def test_seats_are_refreshed(store: Store, globe: Using) -> None:
    def seat(db: Connection, user: Row) -> tuple[int | None, str | None]:
        row = assistant_seats.of(db, globe.acme["id"], user["id"])
        assert row is not None
        return row["active_at"], row["editor"]

    store.write_sync(usage.record, [globe.row(BEFORE, editor="vim"), globe.row(BEFORE, globe.ben)])
    ends = parse(f"{BEFORE}T00:00:00Z") + DAY - 1
    assert store.read_sync(seat, globe.ann) == (ends, "vim")
    assert store.read_sync(seat, globe.ben) == (ends, None)
    # An earlier day changes nothing. Activity of today gets the current time.
    store.write_sync(
        usage.record, [globe.row("2026-11-01", editor="ed"), globe.row(TODAY, globe.ben)]
    )
    assert store.read_sync(seat, globe.ann) == (ends, "vim")
    store.write_sync(usage.record, [globe.row(TODAY, editor="ed"), globe.row(TODAY)])
    assert store.read_sync(seat, globe.ann) == (store.clock.now(), "ed")
    # A row without activity does not update the seat.
    store.write_sync(usage.record, [globe.row(TODAY, globe.ben, active=False, editor="ed")])
    assert store.read_sync(seat, globe.ben)[1] is None


def test_old_rows_are_dropped(store: Store, globe: Using) -> None:
    for number in range(5):
        store.write_sync(usage.record, [globe.row("2026-10-01", repo_id=number), globe.row(BEFORE)])
    before = usage_days.of_iso("2026-10-02")
    assert store.write_sync(usage.drop, before, 3) == 3
    assert days(store).keys() == {"2026-10-01", BEFORE}
    assert store.write_sync(usage.drop, before, 3) == 2
    assert days(store).keys() == {BEFORE}
    assert len(kept(store)) == 1


def test_names_go_with_their_last_usage(
    store: Store, globe: Using, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They count for the limit of names, so that new ones would be refused at some time."""
    monkeypatch.setattr(usage_names, "MOST", 2)
    early = [globe.row("2026-10-01", editor=each) for each in ("a", "b")]
    # Later usage of an earlier day does not make a name older.
    store.write_sync(usage.record, [globe.row(BEFORE, editor="b"), *early])
    store.write_sync(usage.record, early)
    store.write_sync(usage.drop, usage_days.of_iso("2026-10-02"), 3)
    store.write_sync(usage.record, [globe.row(BEFORE, editor="c")])
    named = store.read_sync(usage_names.list_all, globe.enterprise["id"])
    assert sorted(named.values()) == ["b", "c"]
    assert {row["editor_id"] for row in kept(store)} == named.keys()


@pytest.mark.parametrize(
    ("day", "shown"),
    [
        ("2025-10-09", False),
        ("2025-11-20", False),
        ("2025-11-21", True),
        ("2026-11-21", True),
        ("2026-11-22", False),
    ],
)
def test_days_of_the_last_year_are_shown(day: str, shown: bool) -> None:
    now = parse("2026-11-21T23:59:59Z")
    assert usage_days.is_reported(usage_days.of_iso(day), now) is shown


def test_reports_begin_with_a_day() -> None:
    early = parse("2025-12-01T00:00:00Z")
    assert usage_days.is_reported(usage_days.of_iso("2025-10-10"), early)
    assert not usage_days.is_reported(usage_days.of_iso("2025-10-09"), early)


@pytest.mark.parametrize(
    "text", ["", "2026-1-01", "2026-13-01", "2026-02-30", "20260101", "x" * 10]
)
def test_an_invalid_day_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        usage_days.of_iso(text)
