"""Whole numbers in the text of requests."""

import pytest

from hub.http.numbers import MOST, natural
from hub.websub.websub_form import WebSubForm, lease_of


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("7", 7),
        ("007", 7),
        ("0" * 5000 + "7", 7),
        ("9" * 18, 10**18 - 1),
        ("9" * 19, MOST),
        ("9" * 10_000, MOST),
    ],
)
def test_numbers_are_read(text: str, number: int) -> None:
    assert natural(text) == number


@pytest.mark.parametrize("text", ["", "-1", "+1", "1.0", "1e9", " 1", "1_0", "x", "٣", "²"])
def test_texts_that_are_no_numbers_are_none(text: str) -> None:
    assert natural(text) is None


def test_the_greatest_fits_into_a_column() -> None:
    assert MOST < 2**63


@pytest.mark.parametrize(
    ("given", "seconds"),
    [("300", 300), ("0" * 12 + "300", 300), ("9" * 5000, 900), ("1", 60), ("0", 600), ("", 600)],
)
def test_a_huge_lease_is_bounded(given: str, seconds: int) -> None:
    form = WebSubForm(f"hub.lease_seconds={given}".encode())
    assert lease_of(form, 60, 600, 900) == seconds
