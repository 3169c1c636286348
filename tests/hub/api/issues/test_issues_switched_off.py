"""Requests to issues and pull requests of a repository whose issues are switched off."""

from typing import Any

import httpx
import pytest
from assertions import assert_error
from issue_world import Platform, issue, pull

from store import Store

ISSUES = "/repos/octo/hello/issues"
PARTS = ("", "/comments", "/events", "/timeline", "/labels", "/issue-field-values")
CHANGES = [
    ("PATCH", "", {"title": "Hm"}),
    ("POST", "/comments", {"body": "Hm"}),
    ("POST", "/labels", {"labels": ["bug"]}),
    ("POST", "/assignees", {"assignees": ["octo"]}),
    ("PUT", "/issue-field-values", {"issue_field_values": []}),
    ("PUT", "/lock", {"lock_reason": "spam"}),
]


@pytest.fixture
def switched_off(platform: Platform, store: Store, seed: Any) -> None:
    """Issue 1 and pull request 2 of octo/hello, where issues are switched off afterwards."""
    platform.report("issues", "opened", issue=issue(1))
    platform.report("pull_request", "opened", pull_request=pull(2))
    sql = "UPDATE repository SET has_issues = 0 WHERE id = :id"
    store.write_sync(lambda db: db.execute(sql, id=seed.hello["id"]))


@pytest.mark.usefixtures("switched_off")
@pytest.mark.parametrize("part", PARTS)
async def test_an_issue_is_gone_and_a_pull_request_is_shown(
    client: httpx.AsyncClient, part: str
) -> None:
    answer = await client.get(f"{ISSUES}/1{part}")
    assert_error(answer, 410, "Issues are disabled for this repo")
    assert (await client.get(f"{ISSUES}/2{part}")).status_code == 200


@pytest.mark.usefixtures("switched_off")
@pytest.mark.parametrize(("method", "part", "body"), CHANGES)
async def test_an_issue_cannot_be_changed(
    client: httpx.AsyncClient, method: str, part: str, body: Any
) -> None:
    answer = await client.request(method, f"{ISSUES}/1{part}", json=body)
    assert_error(answer, 410, "Issues are disabled for this repo")


@pytest.mark.usefixtures("switched_off")
async def test_an_issue_that_does_not_exist_is_not_found(client: httpx.AsyncClient) -> None:
    assert_error(await client.get(f"{ISSUES}/9"), 404)
