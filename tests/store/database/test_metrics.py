"""Kinds of metrics, and the writer's counters."""

import asyncio

import pytest

from store import Connection, Store
from store.accounts import accounts
from store.database.metrics import CounterMetric, GaugeMetric, HistogramMetric
from store.database.writing import writer
from store.errors import Busy, Missing, Unavailable


def test_known_labels_are_reported_from_the_start() -> None:
    tally = CounterMetric("t", "text", ("outcome",), [("good",), ("bad",)])
    tally.add("good")
    tally.add("good", many=2)
    tally.add("odd")
    assert tally.values() == {("good",): 3, ("bad",): 0, ("odd",): 1}
    plain = CounterMetric("t", "text")
    assert plain.values() == {(): 0}


def test_a_value_at_a_bound_is_within_it() -> None:
    spread = HistogramMetric("s", "text", (1, 2))
    for value in (0.5, 1, 1.5, 2, 2.5):
        spread.add(value)
    assert spread.values() == {(): ([2, 2, 1], 7.5)}
    spread.observe_all([0.5, 9])
    assert spread.values() == {(): ([3, 2, 2], 17)}


def test_spreads_by_labels() -> None:
    spread = HistogramMetric("s", "text", (1,), ("door",))
    assert spread.values() == {}
    spread.add(0.5, "hub")
    spread.add(5, "api")
    assert spread.values() == {("hub",): ([1, 0], 0.5), ("api",): ([0, 1], 5)}


def test_a_level_is_read_when_it_is_asked_for() -> None:
    level = GaugeMetric("l", "text")
    assert level.values() == {}
    level.read = lambda: 3
    assert level.values() == {(): 3}
    level.read = lambda: {("a",): 1}
    assert level.values() == {("a",): 1}


def count(store: Store) -> int:
    (found,) = store.metrics.commits.values().values()
    return int(sum(found[0]))


def many(tally: CounterMetric) -> float:
    return sum(tally.values().values())


async def test_commits_are_counted_by_the_group(store: Store) -> None:
    await asyncio.gather(*(store.write(accounts.create, f"u{at}") for at in range(50)))
    assert many(store.metrics.writes) == 50
    assert 1 <= count(store) < 50
    assert store.metrics.waiting.read() == 0
    assert many(store.metrics.failures) == 0


async def test_a_refused_write_is_not_counted_as_a_failure(store: Store) -> None:
    def refuse(db: Connection) -> None:
        raise Missing("x")

    with pytest.raises(Missing):
        await store.write(refuse)
    assert many(store.metrics.failures) == 0


async def test_a_failed_group_is_counted(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(db: Connection) -> None:
        raise Unavailable("away")

    with pytest.raises(Unavailable):
        await store.write(fail)
    assert many(store.metrics.failures) == 1
    monkeypatch.setattr(writer, "MOST_WAITING", 0)
    with pytest.raises(Busy):
        await store.write(accounts.create, "ada")
    assert many(store.metrics.refused) == 1
