"""State documents: patterns of secrets."""

from typing import Any

import pytest

from store import Row, Store
from store.accounts import organizations
from store.secret_scanning import secret_patterns

OWN: dict[str, Any] = {
    "organization": "tower",
    "token_type": "cp_1",
    "custom": True,
    "display_name": "Tower key",
    "setting": "enabled",
    "alerts": 15,
    "bypasses": 4,
}
DOCUMENT: dict[str, Any] = {
    "organizations": [{"login": "tower"}],
    "enterprises": [{"slug": "skyline", "organizations": ["tower"]}],
    "secret_patterns": [OWN],
    "enterprise_secret_patterns": [
        {"enterprise": "skyline", "token_type": "NPM_ACCESS_TOKEN", "setting": "enabled"}
    ],
}


def kept(store: Store, token_type: str = "cp_1") -> Row:
    tower = store.read_sync(organizations.by_login, "tower")
    rows = store.read_sync(secret_patterns.list_all, tower["id"])
    (row,) = [one for one in rows if one["token_type"] == token_type]
    return row


def test_secret_patterns_are_made_once(load, store: Store):
    assert "4 created, 0 updated, 0 unchanged" in load(DOCUMENT).stdout
    row = kept(store)
    assert (row["slug"], row["setting"], row["alerts"]) == ("tower-key", "enabled", 15)
    assert (row["default_setting"], row["blocks"], row["bypasses"]) == ("disabled", 0, 4)
    assert kept(store, "NPM_ACCESS_TOKEN")["enterprise_setting"] == "enabled"
    assert "0 created, 0 updated, 4 unchanged" in load(DOCUMENT).stdout
    assert kept(store)["version"] == row["version"]


def test_changed_secret_patterns_are_updated(load, store: Store):
    load(DOCUMENT)
    other: dict[str, Any] = {
        "secret_patterns": [
            {"organization": "tower", "token_type": "cp_1", "blocks": 30},
            {"organization": "tower", "token_type": "NPM_ACCESS_TOKEN", "alerts": 3},
        ],
        "enterprise_secret_patterns": [
            {"enterprise": "skyline", "token_type": "NPM_ACCESS_TOKEN", "setting": "not-set"}
        ],
    }
    assert "0 created, 3 updated, 0 unchanged" in load(other).stdout
    assert (kept(store)["blocks"], kept(store)["setting"]) == (30, "enabled")
    row = kept(store, "NPM_ACCESS_TOKEN")
    assert (row["alerts"], row["display_name"]) == (3, "npm Access Token")
    assert row["enterprise_setting"] == "not-set"
    assert "0 created, 0 updated, 3 unchanged" in load(other).stdout


@pytest.mark.parametrize(
    ("part", "change", "said"),
    [
        ("secret_patterns", {"organization": "nobody"}, "no organization 'nobody'"),
        ("secret_patterns", {"display_name": None}, "is new and needs a display_name"),
        ("secret_patterns", {"setting": "not-set"}, "is disabled or enabled"),
        ("secret_patterns", {"token_type": "NPM_ACCESS_TOKEN"}, "a pattern of another kind"),
        ("secret_patterns", {"alerts": -1}, "greater than or equal to 0"),
        ("enterprise_secret_patterns", {"enterprise": "x"}, "there is no enterprise 'x'"),
        ("enterprise_secret_patterns", {"setting": "on"}, "Input should be"),
    ],
)
def test_a_wrong_secret_pattern_is_refused(load, part: str, change: dict[str, Any], said: str):
    result = load(DOCUMENT | {part: [DOCUMENT[part][0] | change]}, code=2)
    assert f"{part}[0]" in result.output
    assert said in result.output
