"""The README stays short."""

from manual import README

MOST_LINES = 200


def test_it_is_read_in_minutes() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= MOST_LINES
