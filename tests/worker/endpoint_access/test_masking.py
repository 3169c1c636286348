"""Asterisks in place of secrets: a short secret hides no other text."""

import json

import pytest

from worker.endpoint_access.masking import masked, masked_end


@pytest.mark.parametrize(
    ("secret", "text"),
    [
        ("e", "connect: the peer did not answer"),
        ("3", "Retry-After: 3600"),
        ("rest", "the restart is over"),
        (" ", "not a secret"),
        ("*", "********"),
        ("n", json.dumps("one\nline")),
    ],
)
def test_a_short_secret_hides_no_other_word(secret: str, text: str) -> None:
    assert masked(text, [secret]) == text


@pytest.mark.parametrize("secret", ["3", "e", "hunter2", "söster", "a/b", "a b"])
@pytest.mark.parametrize("text", ["{}", "<{}>", "secret={}; other", "version {}, please: {}."])
def test_a_short_secret_is_masked_where_it_stands_alone(secret: str, text: str) -> None:
    assert masked(text.format(secret, secret), [secret]) == text.format(*["********"] * 2)
    quoted = json.dumps(f"\n{secret}\t\u0001{secret}")
    assert masked(quoted, [secret]) == json.dumps("\n********\t\u0001********")


@pytest.mark.parametrize(
    "text", ["token%3D{}%26x", "a%20{}", r"b'\x3d{}\x00'", "**{}**", "*{}*", "password=********{}"]
)
def test_a_short_secret_stands_alone_beside_escaped_characters_and_asterisks(text: str) -> None:
    assert masked(text.format("hunter2"), ["hunter2"]) == text.format("********")


def test_a_long_secret_is_masked_within_a_word() -> None:
    assert masked("xopen-sesamex", ["open-sesame"]) == "x********x"


def test_asterisks_are_not_masked_again() -> None:
    assert masked("hunter2-hunter2 is *", ["hunter2-hunter2", "*"]) == "******** is ********"


@pytest.mark.parametrize("text", ["was {}", json.dumps("was\n{}")])
def test_no_rest_of_a_secret_is_left_that_contains_another(text: str) -> None:
    for secrets in (["open", "open-sesame", "open-sesame-2"], ["open-sesame-2", "sesame-2"]):
        assert masked(text.format("open-sesame-2"), secrets) == text.format("********")


@pytest.mark.parametrize(
    "end", ["open", "open-sesam", "open-sesam\N{REPLACEMENT CHARACTER}", "open-sesame-2"]
)
def test_the_beginning_of_a_secret_is_masked_where_a_text_was_cut(end: str) -> None:
    secrets = ["open-sesame", "open-sesame-25"]
    assert masked_end(f"was open, {end}", secrets) == "was open, ********"


def test_the_beginning_of_an_escaped_secret_is_masked_where_a_text_was_cut() -> None:
    assert masked_end(json.dumps('a"b"c')[:-3], ['a"b"c']) == '"********'


@pytest.mark.parametrize("end", ["", "ope", "sesame", "open-sesamX"])
def test_another_end_of_a_text_is_left(end: str) -> None:
    assert masked_end(f"was: {end}", ["open-sesame"]) == f"was: {end}"
