"""The newest release in the changelog is the current version, and all entries are short."""

import re

from manual import ROOT
from plain_english import words

from hub import __version__

TEXT = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
MOST_WORDS = 60
MOST_LINES = 2


def test_the_newest_release_is_this_version() -> None:
    titles = re.findall(r"^## (.*)$", TEXT, re.MULTILINE)
    assert titles[0] == "[Unreleased]"
    assert re.fullmatch(rf"\[{re.escape(__version__)}\] - \d{{4}}-\d\d-\d\d", titles[1])


def test_entries_are_short() -> None:
    entries = [one for one in re.split(r"\n(?=- |#|$)", TEXT) if one.startswith("- ")]
    assert len(entries) > 40
    assert [one for one in entries if words(one) > MOST_WORDS] == []


def test_an_entry_has_two_lines_at_most() -> None:
    found = re.findall(r"^- .*\n(?:  .*\n)*", TEXT, re.MULTILINE)
    items = [one.splitlines() for one in found]
    assert len(items) > 40
    assert [one for one in items if len(one) > MOST_LINES] == []
