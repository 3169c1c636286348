"""The sentences of all pages are short, and have no banned turn of phrase."""

from pathlib import Path

import pytest
from manual import all_pages, cells, named, sentences
from plain_english import LONGEST, found_in, hard_to_read, words

MOST_ON_AVERAGE = 16


@pytest.mark.parametrize("page", all_pages(), ids=named)
def test_sentences_are_short(page: Path) -> None:
    counted = [(words(one), one) for one in sentences(page)]
    average = sum(many for many, _ in counted) / len(counted)
    assert average <= MOST_ON_AVERAGE, f"{average:.1f} words on average"
    assert [one for many, one in counted if many > LONGEST] == []


@pytest.mark.parametrize("page", all_pages(), ids=named)
def test_no_sentence_has_a_banned_turn(page: Path) -> None:
    assert [one for one in sentences(page) if found_in(one)] == []


@pytest.mark.parametrize("page", all_pages(), ids=named)
def test_tables_are_plain_too(page: Path) -> None:
    assert [one for one in cells(page) if hard_to_read(one)] == []


@pytest.mark.parametrize(
    "sentence",
    [
        "The key is that of the hub.",
        "What is refused is listed.",
        "Of a host's hooks one is sent to.",
        "The subscriber is told that it is denied.",
        "Who asks from here is an administrator.",
    ],
)
def test_a_banned_turn_is_found(sentence: str) -> None:
    assert found_in(sentence)


def test_words_of_sentences_are_counted() -> None:
    """Code counts as one word, and a mark inside of it ends no sentence."""
    page = Path(__file__).parent / "counted.md"
    assert [words(one) for one in sentences(page)] == [4, 5, 3, 1, 1]
