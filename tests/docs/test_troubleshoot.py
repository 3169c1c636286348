"""The headings of the troubleshooting page name symptoms, and the page quotes messages of the hub
exactly.
"""

import re

import pytest
from manual import MANUAL, ROOT

TEXT = (MANUAL / "how-to" / "troubleshoot.md").read_text(encoding="utf-8")
SYMPTOMS = ("401", "403", "422", "503", "waiting", "dead", "disabled", "Nothing arrives")
MESSAGES = re.findall(r"^\| `([^`]+)`", TEXT, re.MULTILINE)


@pytest.mark.parametrize("symptom", SYMPTOMS)
def test_a_symptom_is_in_a_heading(symptom: str) -> None:
    assert [title for title in re.findall(r"^## (.*)$", TEXT, re.MULTILINE) if symptom in title]


def test_messages_are_as_the_hub_says_them() -> None:
    said = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "hub").rglob("*.py"))
    assert len(MESSAGES) > 4
    for message in MESSAGES:
        assert message.removeprefix("hub.callback") in said, message
