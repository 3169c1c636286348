"""The payload of a delivery: its form encoding, and the cache of payloads."""

import threading
from typing import Any
from urllib.parse import parse_qs, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st
from worker_harness import WorkerHarness

from store import Connection
from worker.delivery import payload as payload_module
from worker.delivery import payload_cache as module
from worker.delivery.payload import ENTRY, PIECE, Payload, form_encode
from worker.delivery.payload_cache import PayloadCache, read_payloads


@given(st.binary())
def test_a_form_carries_every_byte(body: bytes) -> None:
    encoded = form_encode(body)
    (name, value), *more = parse_qs(
        encoded.decode("ascii"), keep_blank_values=True, strict_parsing=True, encoding="latin-1"
    ).items()
    assert not more
    assert name == "payload"
    assert [part.encode("latin-1") for part in value] == [body]


@given(st.text())
def test_a_form_carries_text(text: str) -> None:
    encoded = form_encode(text.encode("utf-8", "surrogatepass")).decode("ascii")
    found = parse_qs(encoded, keep_blank_values=True, errors="surrogatepass")
    assert found == {"payload": [text]}


@given(st.binary())
def test_a_form_matches_urllib(body: bytes) -> None:
    # The two encode ~ and * differently, and parsers of forms accept both ways.
    expected = quote_plus(body, safe="*").replace("~", "%7E")
    assert form_encode(body) == b"payload=" + expected.encode()


def test_every_byte_can_be_read_back_from_a_form() -> None:
    for body in [bytes((n,)) for n in range(256)] + [bytes(range(256)) * 3, b"%%25+ %2B", b""]:
        found = parse_qs(form_encode(body).decode(), keep_blank_values=True, encoding="latin-1")
        assert found["payload"][0].encode("latin-1") == body


def test_the_form_is_built_once_for_all_hooks() -> None:
    content = Payload("push", "g", b'{"a": 1}')
    first = content.body_as("form")
    assert first == b"payload=%7B%22a%22%3A+1%7D"
    assert content.body_as("form") is first
    assert content.body_as("json") is content.body


def test_many_subscribers_ask_once_whether_a_topic_publishes_an_event(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []
    monkeypatch.setattr(payload_module, "is_published", lambda *given: asked.append(given) or False)
    payload = Payload("push", "1", b'{"private":true}')
    assert [payload.is_published for _ in range(3)] == [False] * 3
    assert asked == [("push", b'{"private":true}')]


async def test_one_event_to_many_form_hooks_is_encoded_once(
    harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[bytes] = []

    def counted(body: bytes) -> bytes:
        built.append(body)
        return form_encode(body)

    monkeypatch.setattr(payload_module, "form_encode", counted)
    for _ in range(5):
        harness.hook(content_type="form")
    harness.hook(content_type="json")
    await harness.work()
    await harness.event(b'{"ref": "main"}')
    await harness.over(delivered=6)
    assert built == [b'{"ref": "main"}']
    forms = {post.body for post in harness.network.posts} - {b'{"ref": "main"}'}
    assert forms == {form_encode(b'{"ref": "main"}')}


async def test_a_large_form_is_encoded_once_and_beside_the_event_loop(
    harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoders: list[threading.Thread] = []

    def noted(body: bytes) -> bytes:
        encoders.append(threading.current_thread())
        return form_encode(body)

    monkeypatch.setattr(module, "form_encode", noted)
    for _ in range(5):
        harness.hook(content_type="form")
    body = b'{"text": "%s"}' % (b"a + %20" * (PIECE // 4))
    await harness.work()
    await harness.event(body)
    await harness.over(delivered=5)
    assert len(encoders) == 1
    assert encoders[0] is not threading.current_thread()
    (form,) = {post.body for post in harness.network.posts}
    assert parse_qs(form.decode())["payload"] == [body.decode()]


async def test_payloads_beyond_the_size_are_read_again(harness: WorkerHarness) -> None:
    receipts = [await harness.event(bytes((65 + n,)) * 60) for n in range(3)]
    contents = PayloadCache(harness.store, max_bytes=100 + 2 * ENTRY)
    for receipt in receipts:
        content = await contents.get(receipt.event_id)
        assert content is not None
    assert receipts[0].event_id not in contents
    assert receipts[2].event_id in contents
    again = await contents.get(receipts[0].event_id)
    assert again is not None
    assert again.body == b"A" * 60


async def test_the_least_recently_used_is_dropped(harness: WorkerHarness) -> None:
    contents = PayloadCache(harness.store, max_bytes=100 + 2 * ENTRY)
    contents.put(1, Payload("push", "a", b"1" * 40))
    contents.put(2, Payload("push", "b", b"2" * 40))
    assert (await contents.get(1)) is not None
    contents.put(3, Payload("push", "c", b"3" * 40))
    assert 1 in contents
    assert 2 not in contents


async def test_one_larger_than_the_size_is_kept_while_it_is_alone(harness: WorkerHarness) -> None:
    contents = PayloadCache(harness.store, max_bytes=100 + 2 * ENTRY)
    contents.put(1, Payload("push", "a", b"1" * 4000))
    assert 1 in contents


async def test_small_payloads_count_with_their_overhead(harness: WorkerHarness) -> None:
    contents = PayloadCache(harness.store, max_bytes=10 * ENTRY)
    for number in range(20):
        contents.put(number, Payload("push", "a", b"{}"))
    assert [number in contents for number in (10, 11, 19)] == [False, True, True]


@pytest.mark.parametrize("form", ["form", "cloudevents_structured"])
async def test_the_forms_of_a_payload_count(harness: WorkerHarness, form: str) -> None:
    contents = PayloadCache(harness.store, max_bytes=2 * ENTRY + 250)
    first, second = (contents.put(n, Payload("push", "a", b"1" * 100)) for n in (1, 2))
    for payload in (first, second, first, second):
        if form == "form":
            payload.body_as(form)
        else:
            payload.rendered(form, "x", 0)
    assert [number in contents for number in (1, 2)] == [False, True]
    contents.put(3, Payload("push", "c", b"{}"))
    assert (2 in contents, 3 in contents) == (form == "form", True)


async def test_an_unknown_event_is_none(harness: WorkerHarness) -> None:
    assert await PayloadCache(harness.store).get(404) is None


async def test_a_read_on_the_event_loop_includes_the_next_events(harness: WorkerHarness) -> None:
    first, *rest = [(await harness.event()).event_id for _ in range(4)]
    contents = PayloadCache(harness.store)
    assert await contents.get(first, lambda: rest) is not None
    # A server is asked for what is needed at the same time, and nothing else.
    assert [one in contents for one in rest] == [harness.store.engine.inline] * 3
    assert await contents.get(rest[2]) is not None


async def test_little_is_read_ahead_of_its_use(
    harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_AHEAD", 2)
    numbers = [(await harness.event()).event_id for _ in range(7)]
    contents = PayloadCache(harness.store)
    await contents.get(numbers[0], lambda: numbers[1:3])
    await contents.get(numbers[3], lambda: numbers[4:])
    assert not any(one in contents for one in numbers[4:])
    for number in numbers[1:3]:
        await contents.get(number)
    await contents.get(numbers[4], lambda: numbers[5:])
    assert [one in contents for one in numbers[5:]] == [harness.store.engine.inline] * 2


async def test_payloads_that_nobody_uses_do_not_end_reading_ahead(
    harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_AHEAD", 2)
    numbers = [(await harness.event()).event_id for _ in range(6)]
    contents = PayloadCache(harness.store)
    await contents.get(numbers[0], lambda: numbers[1:3])
    await contents.get(numbers[3], lambda: numbers[4:])
    await contents.get(numbers[4], lambda: numbers[5:])
    assert (numbers[5] in contents) == harness.store.engine.inline


async def test_nothing_large_is_read_ahead(harness: WorkerHarness) -> None:
    body = b'{"text": "%s"}' % (b"a" * (module.MAX_INLINE_BYTES // 2))
    first, second, third = [(await harness.event(body)).event_id for _ in range(3)]
    contents = PayloadCache(harness.store)
    await contents.get(first, lambda: [second, third])
    assert second not in contents
    assert third not in contents


@pytest.mark.parametrize("options", [None, {"batch": {"max_events": 34}}])
async def test_waiting_deliveries_of_a_hook_have_few_reads(
    harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any] | None
) -> None:
    reads: list[int] = []

    def counted(db: Connection, event_ids: list[int], most: int = 0) -> dict[int, Payload | None]:
        reads.append(len(event_ids))
        return read_payloads(db, event_ids, most)

    monkeypatch.setattr(module, "read_payloads", counted)
    harness.hook(options=options)
    await harness.events(34)
    await harness.work(concurrency=1)
    await harness.over(delivered=34)
    if harness.store.engine.inline:
        assert reads == [17, 17]
