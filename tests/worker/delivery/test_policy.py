"""The outcome of an attempt: the retry schedule, jitter, `Retry-After` and the last attempt."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from worker_harness import START

from store.clock import SECOND
from store.hooks.hook_options import DeliveryOptions
from store.ordering.delivery_states import DEAD, DELIVERED, WAITING
from worker.delivery.answer_outcome import (
    MOST_ATTEMPTS,
    Decision,
    Reply,
    decide,
    parse_retry_after,
)
from worker.delivery.policy import Policy, policy_for
from worker.settings import WorkerSettings

DAY = 24 * 3600.0
SCHEDULE = [0, 5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400]
NOW = datetime.fromtimestamp(START / SECOND, UTC)


def policy(jitter: float = 0.0, **options: object) -> Policy:
    return policy_for(WorkerSettings(jitter=jitter), options)


def failed(number: int, retry_after: str | None = None, jitter: float = 0.0) -> Decision:
    return decide(policy(jitter), number, Reply(500, None, retry_after), START)


def delay(verdict: Decision) -> float:
    assert verdict.state == WAITING
    return (verdict.due_at - START) / SECOND


def test_the_default_schedule_has_ten_attempts() -> None:
    assert WorkerSettings().retries == SCHEDULE
    assert [delay(failed(number)) for number in range(1, 10)] == SCHEDULE[1:]
    assert failed(10) == Decision(DEAD, START)


@pytest.mark.parametrize("number", range(1, 10))
def test_jitter_is_a_fifth_either_way(number: int) -> None:
    assert WorkerSettings().jitter == 0.2
    nominal = SCHEDULE[number]
    delays = {delay(failed(number, jitter=0.2)) for _ in range(300)}
    assert min(delays) >= nominal * 0.8
    assert max(delays) <= nominal * 1.2
    assert min(delays) < nominal * 0.9
    assert max(delays) > nominal * 1.1


@pytest.mark.parametrize("status", [200, 201, 202, 204, 226, 299])
def test_2xx_is_success(status: int) -> None:
    assert decide(policy(), 1, Reply(status), START) == Decision(DELIVERED, START)


@pytest.mark.parametrize(
    "status", [101, 199, 300, 301, 302, 304, 307, 308, 400, 404, 429, 500, 999]
)
def test_anything_else_is_tried_again(status: int) -> None:
    assert delay(decide(policy(), 1, Reply(status), START)) == 5


def test_a_2xx_that_broke_off_is_a_failure() -> None:
    broken = decide(policy(), 1, Reply(200, "read: connection closed"), START)
    assert delay(broken) == 5


def test_no_answer_is_a_failure() -> None:
    assert delay(decide(policy(), 2, Reply(None, "connect: refused"), START)) == 300


def test_410_is_the_end_and_disables() -> None:
    verdict = decide(policy(), 1, Reply(410, None, "60"), START)
    assert verdict == Decision(DEAD, START, "the receiver answered 410 Gone")


def test_the_last_failure_is_the_end_despite_retry_after() -> None:
    for verdict in (
        decide(policy(), 10, Reply(503, None, "60"), START),
        decide(policy(retries=[0]), 1, Reply(503, None, "60"), START),
    ):
        assert (verdict.state, verdict.due_at) == (DEAD, START)
        # `Retry-After` still delays the other deliveries of the hook.
        assert verdict.held_until == START + 60 * SECOND


def test_429_uses_up_no_retry() -> None:
    chosen = policy(retries=[0, 5])
    throttled = decide(chosen, 1, Reply(429), START)
    assert (delay(throttled), throttled.throttled, throttled.instruction) == (5, True, "throttle")
    for earlier in range(1, 50):
        assert delay(decide(chosen, earlier + 1, Reply(429), START, earlier)) == 5
    assert decide(chosen, 51, Reply(500), START, 50).state == WAITING
    assert decide(chosen, 52, Reply(500), START, 50).state == DEAD
    # A schedule without retries has no delay to use, so a fixed one of 60 s is used.
    assert delay(decide(policy(retries=[0]), 1, Reply(429), START)) == 60


def test_429_is_not_answered_by_attempts_without_a_pause() -> None:
    chosen = policy(retries=[0.001, 0.001])
    assert delay(decide(chosen, 1, Reply(429), START)) == 0.001
    assert delay(decide(chosen, 2, Reply(429), START, 1)) == 1


def test_a_delivery_is_dead_after_very_many_attempts() -> None:
    chosen = policy(retries=[0, 5])
    assert decide(chosen, MOST_ATTEMPTS - 1, Reply(429), START, MOST_ATTEMPTS - 2).state == WAITING
    assert decide(chosen, MOST_ATTEMPTS, Reply(429), START, MOST_ATTEMPTS - 1).state == DEAD
    assert decide(chosen, MOST_ATTEMPTS, Reply(200), START, MOST_ATTEMPTS - 1).state == DELIVERED
    assert MOST_ATTEMPTS < 2**15, "the number of an attempt must fit its column"


@pytest.mark.parametrize("status", [400, 413, 429, 500, 503])
def test_retry_after_on_any_failure_holds_the_hook(status: int) -> None:
    verdict = decide(policy(), 1, Reply(status, None, "120"), START)
    assert verdict.held_until == START + 120 * SECOND
    assert verdict.instruction == "retry-after=120"


def test_retry_after_is_capped_by_the_setting() -> None:
    capped = policy_for(WorkerSettings(jitter=0, max_retry_after=90), {})
    assert delay(decide(capped, 1, Reply(503, None, "3600"), START)) == 90


def test_retry_after_of_a_success_says_nothing() -> None:
    assert decide(policy(), 1, Reply(200, None, "120"), START) == Decision(DELIVERED, START)


@pytest.mark.parametrize("text", ["disable", " Disable ", "DISABLE"])
def test_a_receiver_disables_its_hook(text: str) -> None:
    reason = "the receiver answered webhook-delivery: disable"
    for status, state in ((500, DEAD), (200, DELIVERED)):
        verdict = decide(policy(), 1, Reply(status, directive=text), START)
        assert verdict == Decision(state, START, reason, instruction="disable")


def test_a_receiver_aborts_a_delivery() -> None:
    aborted = decide(policy(), 1, Reply(500, None, "60", "abort-message"), START)
    assert aborted == Decision(DEAD, START, instruction="abort-message")
    delivered = decide(policy(), 1, Reply(200, directive="abort-message"), START)
    assert delivered == Decision(DELIVERED, START)


@pytest.mark.parametrize("text", ["", "stop", "disable, abort-message", "disabled", "abort"])
def test_an_unknown_directive_is_ignored(text: str) -> None:
    assert delay(decide(policy(), 1, Reply(500, directive=text), START)) == 5


def test_retry_after_is_a_floor() -> None:
    assert delay(failed(1, "120")) == 120
    assert delay(failed(2, "120")) == 300
    assert delay(failed(1, "0")) == 5


def test_retry_after_is_not_shortened_by_jitter() -> None:
    assert {delay(failed(1, "120", jitter=1.0)) for _ in range(50)} == {120}


def test_retry_after_can_be_a_date() -> None:
    for date in (NOW, NOW.replace(tzinfo=None)):
        later = date + timedelta(minutes=10)
        text = format_datetime(later, usegmt=later.tzinfo is not None)
        assert delay(failed(1, text)) == 600
    assert delay(failed(1, "Sat, 21 Nov 2026 07:43:00 GMT")) == 600
    assert delay(failed(1, "Saturday, 21-Nov-26 07:43:00 GMT")) == 600
    assert delay(failed(1, "Sat Nov 21 07:43:00 2026")) == 600
    assert delay(failed(1, format_datetime(NOW - timedelta(days=3)))) == 5


def test_retry_after_is_at_most_a_day() -> None:
    assert delay(failed(1, "999999")) == DAY
    assert delay(failed(1, "9" * 5000)) == DAY
    assert delay(failed(1, format_datetime(NOW + timedelta(days=400)))) == DAY


@pytest.mark.parametrize(
    "text",
    ["", " ", "soon", "-5", "+5", "1.5", "1e9", "0x10", "12 s", "١٢", "²", "NaN", "5, 10", "\x00",
     "Sat, 32 Nov 2026 07:43:00 GMT", "Sat, 21 Nov 2026 25:61:61 GMT", ",", "::", "GMT"],
)  # fmt: skip
def test_junk_is_ignored(text: str) -> None:
    assert delay(failed(1, text)) == 5


@given(st.text(max_size=60))
@example("Wed, 21 Oct 99999999999999999999 07:28:00 GMT")
@example("Wed, 21 Oct 2026 07:28:00 +99999999999999999999")
@example("Wed, 21 Oct 9999 23:59:59 -2359")
@example("1 Jan 1 0:0 +2359")
def test_nothing_a_receiver_asks_for_is_an_error(text: str) -> None:
    assert 0 <= parse_retry_after(text, START) <= DAY


@given(st.from_regex(r"[A-Z][a-z]{2}, [0-9]{1,30} [A-Z][a-z]{2} -?[0-9]{1,30} [0-9:]{1,12} .{0,9}"))
def test_nothing_that_looks_like_a_date_is_an_error(text: str) -> None:
    assert 0 <= parse_retry_after(text, START) <= DAY


def test_a_hook_without_options_follows_the_settings() -> None:
    settings = WorkerSettings(timeout=7, concurrency=3, rate=2, breaker=4, disable_after=60)
    expected = Policy(tuple(SCHEDULE), 0.2, 7, 3, 2, 4, 60)
    assert policy_for(settings, {}) == expected
    assert policy_for(settings, DeliveryOptions().model_dump()) == expected


def test_every_option_of_a_hook_counts() -> None:
    options = DeliveryOptions(
        retries=[0, 1], timeout=2, concurrency=3, rate=4, breaker=0, disable_after=0
    ).model_dump()
    assert set(options) == set(DeliveryOptions.model_fields)
    assert policy_for(WorkerSettings(), options) == Policy((0, 1), 0.2, 2, 3, 4, 0, 0)


def test_a_hook_can_have_its_own_schedule() -> None:
    chosen = policy(retries=[0, 1, 2])
    assert delay(decide(chosen, 2, Reply(500), START)) == 2
    assert decide(chosen, 3, Reply(500), START).state == DEAD


def test_the_first_attempt_is_made_at_once() -> None:
    with pytest.raises(ValueError, match="the first delay is 0"):
        DeliveryOptions(retries=[5, 10])
    with pytest.raises(ValueError, match="the first delay is 0"):
        WorkerSettings(retries=[5, 10])


def ordered(number: int, waited: float, **options: object) -> Decision:
    """The decision about a failed attempt, when later deliveries have waited `waited` seconds."""
    chosen = policy(ordering="hook", **options)
    since = START - round(waited * SECOND)
    return decide(chosen, number, Reply(500), START, since=since)


def test_an_ordered_delivery_keeps_others_waiting_for_an_hour_at_most() -> None:
    assert delay(ordered(2, 5)) == 300, "the schedule decides before the limit"
    assert delay(ordered(4, 3000)) == 600, "the last attempt is made at the limit"
    assert ordered(4, 3600) == Decision(DEAD, START)


def test_max_block_is_the_hooks_own() -> None:
    assert delay(ordered(2, 0, max_block=20)) == 20
    assert ordered(2, 20, max_block=20).state == DEAD


def test_a_hook_that_blocks_has_no_such_limit() -> None:
    assert delay(ordered(4, 10_000, on_exhausted="block", max_block=20)) == 7200


def test_without_an_ordering_there_is_no_such_limit() -> None:
    assert policy(max_block=20).max_block is None
