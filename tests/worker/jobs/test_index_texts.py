"""The text index of attempts: the job that builds it, and searches, which find the same as a scan.

A portion has 512 attempts. Most tests add more, and attempts after the last full portion are not
indexed.
"""

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from attempt_rows import Text, add_attempts
from waiting import until
from worker_harness import WorkerHarness

from store import Connection, Store
from store.clock import SECOND
from store.delivery import attempt_text
from store.delivery.attempt_feed import AttemptPage
from store.delivery.attempt_filter import AttemptFilter
from store.text_index import portions, slices, trigrams
from store.text_index.portions import WIDTH
from worker.job_table import JobContext, build_jobs
from worker.jobs import index_texts as index_texts_module
from worker.jobs.index_texts import drop_index, index_texts, next_drop
from worker.jobs.prune import prune
from worker.settings import WorkerSettings

DAY = 86_400
PLAIN: Text = (b'{"text": "nothing of interest"}', "thanks")
LETTERS = 'abcöÖßéΣσςİıﬁ😀%_\\"\x00\n'


def rows(db: Connection, table: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in db.all(f"SELECT * FROM {table}"))


def indexed(db: Connection) -> list[int]:
    query = "SELECT portion FROM text_portion WHERE indexed_at IS NOT NULL ORDER BY portion"
    return [number for (number,) in db.tuples(query)]


def search(
    store: Store,
    text: str,
    *,
    limit: int = 10_000,
    before: int | None = None,
    most_bytes: int = attempt_text.MOST_BYTES,
    **wanted: Any,
) -> AttemptPage:
    """Search without a time limit."""
    return store.read_sync(
        attempt_text.page,
        AttemptFilter(**wanted),
        text,
        limit=limit,
        before=before,
        most_bytes=most_bytes,
        clock=lambda: 0.0,
    )


def ids(found: AttemptPage) -> list[int]:
    return [row["id"] for row in found.rows]


def payload(text: str, *, escaped: bool = False) -> bytes:
    return json.dumps({"text": text}, ensure_ascii=escaped).encode("utf-8", "surrogatepass")


@pytest.fixture
def fill(harness: WorkerHarness) -> Callable[..., list[int]]:
    """A function that adds attempts with these texts, and returns their ids.

    Attempts with a plain text follow, up to `many` in all. The default is one and a half portions.
    """
    hook_id = harness.hook()

    def add(*texts: Text, many: int = WIDTH * 3 // 2, **given: Any) -> list[int]:
        plain = [PLAIN] * (many - len(texts))
        return harness.store.write_sync(add_attempts, hook_id, [*texts, *plain], **given)[
            : len(texts)
        ]

    return add


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The events whose payloads searches have read."""
    found: list[int] = []
    get_many = attempt_text.events.get_many

    def noted(db: Connection, event_ids: list[int], most: int) -> Any:
        bodies = get_many(db, event_ids, most)
        found.extend(bodies)
        return bodies

    monkeypatch.setattr(attempt_text.events, "get_many", noted)
    return found


async def test_a_search_reads_possible_matches_only(
    harness: WorkerHarness, fill: Any, read: list[int]
) -> None:
    (wanted,) = fill((payload("a rare Glöckner"), None))
    assert ids(search(harness.store, "glöckner")) == [wanted]
    assert len(read) == WIDTH * 3 // 2
    await index_texts(harness.store)
    read.clear()
    for text in ("GLÖCKNER", "glöck", "re gl"):
        assert ids(search(harness.store, text)) == [wanted]
    not_indexed = WIDTH * 3 // 2 - (WIDTH - 1)
    assert len(read) < 3 * (not_indexed + 10)
    assert harness.store.read_sync(indexed) == [0]


async def test_a_short_text_is_found_without_the_index(harness: WorkerHarness, fill: Any) -> None:
    wanted = fill((payload("%ö"), None), (payload("none"), "%Ö"))
    await index_texts(harness.store)
    assert sorted(ids(search(harness.store, "%ö"))) == wanted


async def test_new_attempts_are_found_at_once(harness: WorkerHarness, fill: Any) -> None:
    fill()
    await index_texts(harness.store)
    new = fill((payload("a rare bell"), None), many=1)
    assert ids(search(harness.store, "rare bell")) == new


@pytest.mark.parametrize("part", [{}, {"first": 100, "before": 400}, {"event": "push"}])
async def test_index_and_scan_find_the_same(
    harness: WorkerHarness, fill: Any, part: dict[str, Any]
) -> None:
    some = random.Random(3)
    words = ["".join(some.choices(LETTERS, k=some.randrange(12))) for _ in range(500)]
    found = [(*some.sample(words, 2), some.random() < 0.5) for _ in range(200)]
    texts = [(payload(one, escaped=escaped), two) for one, two, escaped in found]
    fill(*[(body, answer.replace("\x00", "")) for body, answer in texts])
    parts = {word[at : at + length] for word in words[:8] for at in (0, 2) for length in (3, 5)}
    wanted = sorted({*parts, "nothing"})
    scanned = [ids(search(harness.store, text, **part)) for text in wanted]
    await index_texts(harness.store)
    assert harness.store.read_sync(indexed) == [0]
    assert [ids(search(harness.store, text, **part)) for text in wanted] == scanned
    assert any(scanned)


async def test_filters_and_pages_hold(harness: WorkerHarness, fill: Any) -> None:
    fill(*[(payload("a bell"), None)] * 30, name="push")
    issues = fill(*[(payload("a bell"), None)] * 30, name="issues")
    other = harness.store.write_sync(add_attempts, harness.hook(), [(payload("a bell"), None)] * 30)
    await index_texts(harness.store)
    assert harness.store.read_sync(indexed) == [0, 1, 2]
    assert ids(search(harness.store, "a bell", event="issues")) == issues[::-1]
    assert ids(search(harness.store, "a bell", hook_id=harness_hook(harness, other))) == other[::-1]
    assert ids(search(harness.store, "a bell", status="failure")) == []
    assert ids(search(harness.store, "a bell", repo_ids=[])) == []
    everything = ids(search(harness.store, "a bell", repo_ids=[harness.repo["id"]]))
    assert len(everything) == 90
    pages: list[int] = []
    before = None
    while len(pages) < len(everything):
        found = search(harness.store, "a bell", limit=7, before=before)
        pages += ids(found)
        before = found.older
    assert pages == everything


def harness_hook(harness: WorkerHarness, attempt_ids: Sequence[int]) -> int:
    query = "SELECT hook_id FROM attempt WHERE id = :id"
    return int(harness.store.read_sync(lambda db: db.value(query, id=attempt_ids[0])))


async def test_a_bounded_search_reports_its_position(harness: WorkerHarness, fill: Any) -> None:
    wanted = fill(*[(payload("a bell " + "x" * 1000), None)] * 20)
    await index_texts(harness.store)
    before, found, rounds = None, [], 0
    while True:
        part = search(harness.store, "a bell", before=before, most_bytes=1)
        found += ids(part)
        rounds += 1
        if part.older is None:
            break
        assert part.scanned
        before = part.older
    assert found == wanted[::-1]
    assert rounds > 1


async def test_a_payload_beyond_every_limit_is_searched(
    harness: WorkerHarness, fill: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trigrams, "LONGEST", 1_000)
    monkeypatch.setattr(attempt_text, "CHUNK_BYTES", 500)
    monkeypatch.setattr(index_texts_module, "MOST_BYTES", 500)
    wanted = fill(*[(payload("x" * 5_000 + "a bell"), None)] * 3)
    await index_texts(harness.store)
    first = search(harness.store, "a bell", before=wanted[-1] + 1, most_bytes=100)
    assert ids(first) == [wanted[2]]
    assert (first.older, first.scanned) == (wanted[2], 1)
    assert ids(search(harness.store, "a bell", before=first.older)) == [wanted[1], wanted[0]]


# Deleted texts.


async def test_nothing_of_a_deleted_payload_stays(harness: WorkerHarness, fill: Any) -> None:
    fill(*[(payload("a secret bell"), "an answer")] * 9, many=WIDTH)
    await index_texts(harness.store)
    with_payloads = harness.store.read_sync(rows, "text_slice")
    harness.clock.advance(8 * DAY)
    await prune(harness.store, WorkerSettings(reflect=False), pause=0)
    assert ids(search(harness.store, "secret bell")) == []
    assert len(ids(search(harness.store, "an answer"))) == 9
    await index_texts(harness.store)
    assert harness.store.read_sync(rows, "text_slice") == with_payloads, (
        "the portion is indexed again later"
    )
    harness.clock.advance(portions.DELAY / SECOND)
    await index_texts(harness.store)
    assert len(harness.store.read_sync(rows, "text_slice")) < len(with_payloads)
    bits = trigrams.bits_of_forms({"secret bell"})
    assert bits is not None
    every = list(range(WIDTH - 1, 0, -1))
    assert harness.store.read_sync(slices.possible, every, bits) == []
    assert len(ids(search(harness.store, "an answer"))) == 9


async def test_portions_go_with_their_attempts(harness: WorkerHarness, fill: Any) -> None:
    fill(many=2 * WIDTH)
    await index_texts(harness.store)
    assert harness.store.read_sync(indexed) == [0, 1]
    harness.clock.advance(31 * DAY)
    new = fill((payload("a new bell"), None), many=10)
    await prune(harness.store, WorkerSettings(), pause=0)
    await index_texts(harness.store)
    assert harness.store.read_sync(rows, "text_portion") == []
    assert harness.store.read_sync(rows, "text_slice") == []
    assert ids(search(harness.store, "new bell")) == new


async def test_a_deletion_while_a_portion_is_read(
    harness: WorkerHarness, fill: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill((payload("a secret bell"), None), many=WIDTH)
    packed = slices.Slices.packed

    def late(self: slices.Slices) -> slices.Parts:
        # The payload is deleted after it was read.
        monkeypatch.undo()
        harness.store.write_sync(_drop_payloads)
        return packed(self)

    monkeypatch.setattr(slices.Slices, "packed", late)
    await index_texts(harness.store)
    bits = trigrams.bits_of_forms({"secret bell"})
    assert bits is not None
    assert harness.store.read_sync(indexed) == [0]
    assert harness.store.read_sync(slices.possible, list(range(WIDTH - 1, 0, -1)), bits) == []


def _drop_payloads(db: Connection) -> None:
    found = [number for (number,) in db.tuples("SELECT id FROM event")]
    portions.mark_events(db, json.dumps(found))
    db.execute("UPDATE event SET body = NULL")


# The job.


async def test_an_interrupted_job_continues(
    harness: WorkerHarness, fill: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = fill((payload("an old bell"), None), many=4 * WIDTH)
    save = slices.save
    saved: list[int] = []

    def failing(db: Connection, portion: portions.IndexPortion, parts: slices.Parts) -> bool:
        stored = save(db, portion, parts)
        saved.append(portion.number)
        if len(saved) == 3:
            raise KeyError("the process ends before the commit")
        return stored

    monkeypatch.setattr(slices, "save", failing)
    with pytest.raises(KeyError):
        await index_texts(harness.store)
    assert harness.store.read_sync(indexed) == [2, 3], "the newest portions come first"
    assert ids(search(harness.store, "old bell")) == wanted
    await index_texts(harness.store)
    assert saved == [3, 2, 1, 1, 0]
    assert harness.store.read_sync(indexed) == [0, 1, 2, 3]
    assert ids(search(harness.store, "old bell")) == wanted


async def test_each_transaction_is_small(
    harness: WorkerHarness, fill: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_texts_module, "MOST_BYTES", 2_000)
    fill(*[(payload("y" * 900), None)] * 50, many=WIDTH)
    most: list[int] = []
    read = harness.store.read

    async def noted(function: Any, *arguments: Any) -> Any:
        found = await read(function, *arguments)
        if function is index_texts_module.events.get_many:
            most.append(sum(len(event["body"]) for event in found.values()))
        return found

    monkeypatch.setattr(harness.store, "read", noted)
    await index_texts(harness.store)
    assert len(most) > 20
    assert max(most) <= 2_000


async def test_the_setting_switches_the_index_on_and_off(harness: WorkerHarness, fill: Any) -> None:
    assert not WorkerSettings().text_index
    wanted = fill((payload("an old bell"), None), many=2 * WIDTH)
    store = harness.store

    def job(**given: Any) -> Any:
        table = build_jobs(JobContext(store, WorkerSettings(**given)))
        (found,) = [job for job in table if job.name == "text-index"]
        return found

    assert store.read_sync(job().when.due, None) is None
    await job().run()
    await job(text_index=True).run()
    assert store.read_sync(indexed) == [0, 1]
    assert store.read_sync(job().when.due, None) == store.clock.now()
    await job().run()
    assert store.read_sync(rows, "text_portion") == store.read_sync(rows, "text_slice") == []
    assert store.read_sync(next_drop) is None
    assert ids(search(store, "old bell")) == wanted


async def test_a_worker_runs_the_job(harness: WorkerHarness, fill: Any) -> None:
    fill(many=WIDTH)
    worker = await harness.work(text_index=True)
    await until(lambda: harness.store.read_sync(indexed) == [0])
    worker.change(WorkerSettings())
    await until(lambda: harness.store.read_sync(rows, "text_portion") == [])


async def test_a_transaction_under_way_is_waited_for(
    harness: WorkerHarness, fill: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An open transaction may still add ids below the newest visible one."""
    fill(many=WIDTH)
    monkeypatch.setattr(index_texts_module, "LOOK_SECONDS", 0)
    states = iter([False, True])
    monkeypatch.setattr(portions, "settled", lambda db, seen: next(states))
    await index_texts(harness.store)
    assert harness.store.read_sync(indexed) == [0]
    monkeypatch.setattr(portions, "settled", lambda db, seen: False)
    fill(many=WIDTH)
    await index_texts(harness.store)
    assert harness.store.read_sync(indexed) == [0], "the next run tries again"


async def test_dropping_is_done_in_batches(harness: WorkerHarness, fill: Any) -> None:
    fill(many=6 * WIDTH)
    await index_texts(harness.store)
    assert len(harness.store.read_sync(portions.find, 100)) == 6 > index_texts_module.DROPPED
    await drop_index(harness.store)
    assert harness.store.read_sync(rows, "text_slice") == []
