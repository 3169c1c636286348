"""Secret scanning patterns of an organization: which of them block a push."""

import re
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from assertions import assert_error, bodies
from bearer import bearer, by
from hub_client import open_client
from transactions import transaction

from hub.auth.organization_access import NOT_AN_OWNER
from hub.settings import HubSettings
from store import Row, Store
from store.accounts import accounts, tokens
from store.enterprises import enterprises
from store.secret_scanning import secret_patterns
from store.secret_scanning.secret_catalog import KNOWN
from store.secret_scanning.secret_patterns import STALE, percentage

AT = "/orgs/acme/secret-scanning/pattern-configurations"
NPM = "NPM_ACCESS_TOKEN"
OWN = {"token_type": "cp_1", "custom": 1, "display_name": "Tower key"}


@pytest.fixture
def acme(store: Store, seed: Any) -> Row:
    """The organization acme. octo owns it, and reader is a member."""

    with transaction(store) as db:
        made = accounts.create(db, "acme", kind="Organization")
        accounts.join(db, made["id"], seed.octo["id"], "admin")
        accounts.join(db, made["id"], seed.reader["id"], "member")
        return made


@pytest.fixture
async def hub(
    store: Store, seed: Any, acme: Row, settings: HubSettings
) -> AsyncIterator[httpx.AsyncClient]:
    value, _ = store.write_sync(tokens.create, seed.octo["id"], scopes=["write:org"])
    bounds = settings.model_copy(update={"max_body_bytes": 1024 * 1024})
    async with open_client(store, bounds, headers=bearer(value)) as opened:
        yield opened


async def listed(hub: httpx.AsyncClient) -> Row:
    answer = await hub.get(AT)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def pattern(hub: httpx.AsyncClient, token_type: str) -> Row:
    shown = await listed(hub)
    found = shown["provider_pattern_overrides"] + shown["custom_pattern_overrides"]
    (one,) = [each for each in found if each["token_type"] == token_type]
    return one


def provider(setting: str, token_type: str = NPM) -> Row:
    one = {"token_type": token_type, "push_protection_setting": setting}
    return {"provider_pattern_settings": [one]}


def custom(setting: str, **given: Any) -> Row:
    one = {"token_type": "cp_1", "push_protection_setting": setting} | given
    return {"custom_pattern_settings": [one]}


async def test_patterns_have_a_default_setting(hub: httpx.AsyncClient) -> None:
    shown = await listed(hub)
    assert re.fullmatch("[0-9a-f]{64}", shown["pattern_config_version"])
    assert (await listed(hub))["pattern_config_version"] == shown["pattern_config_version"]
    assert shown["custom_pattern_overrides"] == []
    slugs = [each["slug"] for each in shown["provider_pattern_overrides"]]
    assert slugs == sorted(slugs)
    assert len(slugs) == len(set(slugs)) == len(KNOWN)
    assert await pattern(hub, NPM) == {
        "token_type": NPM,
        "slug": "npm_access_token",
        "display_name": "npm Access Token",
        "alert_total": 0,
        "alert_total_percentage": 0,
        "false_positives": 0,
        "false_positive_rate": 0,
        "bypass_rate": 0,
        "default_setting": "enabled",
        "setting": "not-set",
        "enterprise_setting": None,
    }


async def test_settings_of_providers_patterns(
    hub: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    versions = []
    for setting in ("enabled", "disabled", "not-set"):
        answer = await hub.patch(AT, json=provider(setting))
        assert answer.status_code == 200, answer.text
        versions.append(answer.json()["pattern_config_version"])
        assert (await pattern(hub, NPM))["setting"] == setting
        assert (await listed(hub))["pattern_config_version"] == versions[-1]
    assert len(set(versions)) == 3
    reported = bodies(store, "secret_scanning_pattern_configuration")
    assert [each["pattern_config_version"] for each in reported] == versions
    assert reported[0].keys() == {
        "action",
        "pattern_config_version",
        "provider_pattern_settings",
        "custom_pattern_settings",
        "organization",
        "sender",
    }
    assert (
        reported[0]["provider_pattern_settings"] == provider("enabled")["provider_pattern_settings"]
    )
    assert reported[0]["organization"]["login"] == "acme"


async def test_an_edit_without_a_change_keeps_the_version(
    hub: httpx.AsyncClient, store: Store
) -> None:
    unchanged = await hub.patch(AT)
    assert (
        unchanged.json()["pattern_config_version"] == (await listed(hub))["pattern_config_version"]
    )
    first = (await hub.patch(AT, json=provider("disabled"))).json()
    for body in ({}, provider("disabled"), {"provider_pattern_settings": []}):
        assert (await hub.patch(AT, json=body)).json() == first
    assert len(bodies(store, "secret_scanning_pattern_configuration")) == 1


# Versions


async def test_a_change_with_an_old_version_is_refused(
    hub: httpx.AsyncClient, store: Store
) -> None:
    before = (await listed(hub))["pattern_config_version"]
    body = provider("enabled") | {"pattern_config_version": before}
    first = (await hub.patch(AT, json=body)).json()
    # Two clients read the first version. The second client's change comes too late.
    assert_error(await hub.patch(AT, json=body | provider("disabled")), 409, STALE)
    again = provider("disabled") | first
    assert (await hub.patch(AT, json=again)).status_code == 200
    assert_error(await hub.patch(AT, json=again), 409, STALE)
    assert (await pattern(hub, NPM))["setting"] == "disabled"
    # If a request has no version, the hub does not compare any.
    for setting, none in (("not-set", {}), ("enabled", {"pattern_config_version": None})):
        assert (await hub.patch(AT, json=provider(setting) | none)).status_code == 200
    assert len(bodies(store, "secret_scanning_pattern_configuration")) == 4


async def test_an_unexpected_version_is_refused(hub: httpx.AsyncClient) -> None:
    body = provider("enabled") | {"pattern_config_version": "x"}
    assert_error(await hub.patch(AT, json=body), 409, STALE)


async def test_a_custom_pattern_has_a_version_of_its_own(
    hub: httpx.AsyncClient, store: Store, acme: Row
) -> None:
    store.write_sync(secret_patterns.put_reported, acme["id"], OWN)
    before = await pattern(hub, "cp_1")
    assert before == {
        "token_type": "cp_1",
        "custom_pattern_version": before["custom_pattern_version"],
        "slug": "tower-key",
        "display_name": "Tower key",
        "alert_total": 0,
        "alert_total_percentage": 0,
        "false_positives": 0,
        "false_positive_rate": 0,
        "bypass_rate": 0,
        "default_setting": "disabled",
        "setting": "disabled",
    }
    version = before["custom_pattern_version"]
    good = custom("enabled", custom_pattern_version=version)
    assert_error(
        await hub.patch(AT, json=custom("enabled", custom_pattern_version="x")), 409, STALE
    )
    assert (await hub.patch(AT, json=good)).status_code == 200
    after = await pattern(hub, "cp_1")
    assert after["setting"] == "enabled"
    assert after["custom_pattern_version"] != version
    # The change has given the pattern a new version.
    stale = custom("disabled", custom_pattern_version=version)
    assert_error(await hub.patch(AT, json=stale), 409, STALE)
    for meant in ({}, {"custom_pattern_version": None}):
        setting = "disabled" if meant else "enabled"
        assert (await hub.patch(AT, json=custom(setting, **meant))).status_code == 200
        assert (await pattern(hub, "cp_1"))["setting"] == setting


async def test_one_wrong_pattern_refuses_the_whole_change(
    hub: httpx.AsyncClient, store: Store, acme: Row
) -> None:
    store.write_sync(secret_patterns.put_reported, acme["id"], OWN)
    first = (await listed(hub))["pattern_config_version"]
    for bad, status in (
        (custom("enabled", custom_pattern_version="x"), 409),
        (custom("enabled", token_type="cp_2"), 422),
    ):
        assert_error(await hub.patch(AT, json=provider("disabled") | bad), status)
    assert (await pattern(hub, NPM))["setting"] == "not-set"
    assert (await listed(hub))["pattern_config_version"] == first


# Refusals


WRONG_PATTERNS = [
    provider("on"),
    provider(""),
    {"provider_pattern_settings": [{"token_type": NPM}]},
    {"provider_pattern_settings": [{"push_protection_setting": "enabled"}]},
    {"provider_pattern_settings": {}},
    {"provider_pattern_settings": [None]},
    custom("not-set"),
    custom("enabled", custom_pattern_version=5),
    {"pattern_config_version": 5},
    {"pattern_config_version": "x" * 256},
    provider("enabled", "x" * 256),
    {"provider_pattern_settings": provider("enabled")["provider_pattern_settings"] * 1001},
]


async def test_invalid_bodies_are_rejected(hub: httpx.AsyncClient) -> None:
    for bad in WRONG_PATTERNS:
        content = assert_error(await hub.patch(AT, json=bad), 422)
        assert content["message"].startswith("Invalid request.")


UNKNOWN_PATTERNS = [
    (provider("enabled", "NOTHING"), "provider_pattern_settings", "missing"),
    (provider("enabled", "cp_1"), "provider_pattern_settings", "missing"),
    (custom("enabled", token_type=NPM), "custom_pattern_settings", "missing"),
    (custom("enabled", token_type="cp_2"), "custom_pattern_settings", "missing"),
    (
        {"provider_pattern_settings": provider("enabled")["provider_pattern_settings"] * 2},
        "provider_pattern_settings",
        "invalid",
    ),
    (
        {"custom_pattern_settings": custom("enabled")["custom_pattern_settings"] * 2},
        "custom_pattern_settings",
        "invalid",
    ),
]


async def test_an_unknown_pattern_is_refused(
    hub: httpx.AsyncClient, store: Store, acme: Row
) -> None:
    for bad, field, code in UNKNOWN_PATTERNS:
        store.write_sync(secret_patterns.put_reported, acme["id"], OWN)
        content = assert_error(await hub.patch(AT, json=bad), 422, "Validation Failed", code=code)
        assert content["errors"][0]["field"] == field


async def test_owners_alone(hub: httpx.AsyncClient, store: Store, seed: Any) -> None:
    value, _ = store.write_sync(tokens.create, seed.reader["id"], scopes=["admin:org"])
    for method in ("GET", "PATCH"):
        assert_error(await hub.request(method, AT, headers=bearer(value)), 403, NOT_AN_OWNER)


async def test_reading_takes_less_than_changing(
    hub: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    headers = by(store, seed.octo, scopes=["read:org"])
    assert (await hub.get(AT, headers=headers)).status_code == 200
    assert_error(await hub.patch(AT, headers=headers), 403)


# Percentages, and settings of the enterprise


async def test_percentages(hub: httpx.AsyncClient, store: Store, acme: Row) -> None:
    with transaction(store) as db:
        counts = {"alerts": 15, "false_positives": 2, "blocks": 30, "bypasses": 4}
        secret_patterns.put_reported(db, acme["id"], {"token_type": NPM, **counts})
        counts = {"alerts": 27, "false_positives": 27, "blocks": 3, "bypasses": 2}
        secret_patterns.put_reported(db, acme["id"], OWN | counts)
    rates = ("alert_total", "alert_total_percentage", "false_positives", "false_positive_rate")
    shown = await pattern(hub, NPM)
    assert [shown[name] for name in (*rates, "bypass_rate")] == [15, 36, 2, 13, 13]
    shown = await pattern(hub, "cp_1")
    assert [shown[name] for name in (*rates, "bypass_rate")] == [27, 64, 27, 100, 67]


@pytest.mark.parametrize(
    ("part", "whole", "found"),
    [(0, 0, 0), (5, 0, 0), (0, 5, 0), (5, 5, 100), (1, 3, 33), (2, 3, 67), (1, 200, 1), (1, 8, 13)],
)
def test_percentages_are_rounded(part: int, whole: int, found: int) -> None:
    assert percentage(part, whole) == found


async def test_the_enterprises_settings(hub: httpx.AsyncClient, store: Store, acme: Row) -> None:
    with transaction(store) as db:
        made = enterprises.create(db, "works")
        enterprises.adopt(db, made["id"], acme["id"])
        secret_patterns.put_enterprise_setting(db, made["id"], NPM, "disabled")
        secret_patterns.put_reported(db, acme["id"], OWN)
    assert (await pattern(hub, NPM))["enterprise_setting"] == "disabled"
    assert (await pattern(hub, "PYPI_API_TOKEN"))["enterprise_setting"] == "not-set"
    assert "enterprise_setting" not in await pattern(hub, "cp_1")
    await hub.patch(AT, json=provider("enabled"))
    shown = await pattern(hub, NPM)
    assert (shown["setting"], shown["enterprise_setting"]) == ("enabled", "disabled")
