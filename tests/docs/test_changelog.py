"""The newest release in the changelog is the current version, and all entries are short."""

import re

from manual import ROOT
from plain_english import words

from hub import __version__

TEXT = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
MOST_WORDS = 60


def test_the_newest_release_is_this_version() -> None:
    titles = re.findall(r"^## (.*)$", TEXT, re.MULTILINE)
    assert titles[0] == "[Unreleased]"
    assert re.fullmatch(rf"\[{re.escape(__version__)}\] - \d{{4}}-\d\d-\d\d", titles[1])


def test_entries_are_short() -> None:
    entries = [one for one in re.split(r"\n(?=- |#|$)", TEXT) if one.startswith("- ")]
    assert len(entries) > 40
    assert [one for one in entries if words(one) > MOST_WORDS] == []
