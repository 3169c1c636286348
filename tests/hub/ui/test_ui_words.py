"""The formats of numbers, durations and times in the dashboard."""

import pytest

from hub.ui import formatting
from hub.ui.lists.filters import status_codes
from hub.ui.sign_in.with_token import within
from hub.ui.view_context import natural
from store.clock import DAY, HOUR, MINUTE, SECOND

NOW = 1_795_246_380_000_000


@pytest.mark.parametrize(
    ("length", "said"),
    [
        (0, "0 µs"), (999, "999 µs"), (1_000, "1 ms"), (1_500, "1.5 ms"), (12_345, "12 ms"),
        (999_999, "1000 ms"), (SECOND, "1 s"), (3_400_000, "3.4 s"), (99 * SECOND, "99 s"),
        (100 * SECOND, "100 s"), (2 * MINUTE, "2 min"), (119 * MINUTE, "119 min"),
        (2 * HOUR, "2 h"), (47 * HOUR, "47 h"), (3 * DAY, "3 d"),
    ],
)  # fmt: skip
def test_durations_are_written_in_words(length: int, said: str) -> None:
    assert formatting.duration(length) == said


@pytest.mark.parametrize(
    ("distance", "said"),
    [
        (0, "now"), (999_999, "now"), (SECOND, "1 s ago"), (61 * SECOND, "1 min ago"),
        (25 * HOUR, "1 d ago"), (-SECOND, "in 1 s"), (-2 * DAY, "in 2 d"),
        (SECOND - 7 * DAY, "in 7 d"), (90 * MINUTE - SECOND, "1 h ago"), (90 * MINUTE, "2 h ago"),
        (HOUR - 31 * SECOND, "59 min ago"), (HOUR - MINUTE // 2, "1 h ago"), (36 * HOUR, "2 d ago"),
    ],
)  # fmt: skip
def test_moments_are_written_as_distances(distance: int, said: str) -> None:
    assert formatting.ago(NOW - distance, NOW) == said


@pytest.mark.parametrize(
    ("many", "minutes", "said"),
    [
        (0, 60, "0"), (11, 60, "0.18"), (90, 60, "1.5"), (60, 60, "1"), (599, 60, "10"),
        (599, 1, "599"), (1_234_567, 1, "1\u202f234\u202f567"), (100, 10_000, "0.01"),
        (1, 10_080, "< 0.01"),
    ],
)  # fmt: skip
def test_rates_are_formatted(many: int, minutes: float, said: str) -> None:
    assert formatting.rate(many, minutes) == f"{said} a minute"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://a.example/in", "https://a.example/in"),
        ("https://a.example/in?token=x&b=", "https://a.example/in?token=•••&b="),
        ("https://a.example/in?secret", "https://a.example/in?•••"),
        ("https://me:pw@a.example:8443/#x", "https://me:•••@a.example:8443/"),
        ("https://[::1/in?token=x", "https://[::1/in"),
    ],
)
def test_secrets_in_urls_are_masked(url: str, shown: str) -> None:
    assert formatting.masked(url) == shown


@pytest.mark.parametrize(
    ("text", "codes"),
    [("503", (503, 503)), ("5xx", (500, 599)), ("none", (0, 0)), ("", None), ("600", None),
     ("50", None), ("xx", None), ("5000", None)],
)  # fmt: skip
def test_status_codes_in_filters(text: str, codes: tuple[int, int] | None) -> None:
    assert status_codes(text) == codes


def test_moments_are_formatted() -> None:
    assert formatting.moment(NOW) == "2026-11-21 07:33:00 UTC"
    assert formatting.clock(NOW) == "07:33"


@pytest.mark.parametrize(
    ("value", "said"),
    [(0, "0 B"), (999, "999 B"), (8_200, "8.2 kB"), (25_000_000, "25 MB"), (10**15, "1000 TB")],
)
def test_sizes_are_formatted(value: int, said: str) -> None:
    assert formatting.size(value) == said


@pytest.mark.parametrize(
    ("part", "whole", "said"),
    [(0, 0, "–"), (0, 5, "0 %"), (5, 5, "100 %"), (1, 3, "33.3 %"), (99_999, 100_000, "> 99.9 %")],
)
def test_percentages_are_formatted(part: int, whole: int, said: str) -> None:
    assert formatting.percent(part, whole) == said


def test_numbers_of_things() -> None:
    assert formatting.pluralize(1, "hook") == "1 hook"
    assert (
        formatting.pluralize(1200, "delivery", "deliveries") == f"1{formatting.THIN}200 deliveries"
    )


@pytest.mark.parametrize("text", ["", "0", "-1", "+1", "1.0", " 1", "x", "٣"])
def test_texts_that_are_no_numbers_are_none(text: str) -> None:
    assert natural(text) is None


def test_only_pages_of_the_dashboard_are_led_to() -> None:
    assert within("/ui/hooks?state=failing") == "/ui/hooks?state=failing"
    for elsewhere in ("/ui/sign-in", "//x", "https://x/ui", "/uix", "/ui/\r\nx", "", "/ui/\\x"):
        assert within(elsewhere) == "/ui"
