"""The operations match the contract.

The client that all tests share checks every answer against the contract.
"""

from typing import Any

import httpx
import pytest
from assertions import attempted, bodies
from contract_checks import Described, contract, lines, own

from hub.openapi.other_endpoints import OTHER_ENDPOINTS
from store import Store

HOOKS = "/repos/octo/hello/hooks"
# Groups (`x-seed-group`) and rings (`x-ring`) of the contract that the hub does not serve yet.
MISSING: set[int | str] = set()
# Operations beyond the contract: the API about itself, and the endpoints for events.
BEYOND = {("/", "get"), ("/versions", "get"), ("/user/{account_id}", "get")}
# An operation of the contract redirects callers who are no members to these.
BEYOND |= {
    ("/orgs/{org}/public_members", "get"),
    ("/orgs/{org}/public_members/{username}", "get"),
}
BEYOND |= {(path, method.lower()) for method, path in (line.split(" ") for line in OTHER_ENDPOINTS)}
BEYOND -= {("/hub", "post")}
# Issues, pull requests, commits and statuses: the requests that bots send most often.
BEYOND |= {
    ("/repos/{owner}/{repo}/commits/{ref}", "get"),
    ("/repos/{owner}/{repo}/commits/{ref}/status", "get"),
    ("/repos/{owner}/{repo}/commits/{ref}/statuses", "get"),
    ("/repos/{owner}/{repo}/issues", "post"),
    ("/repos/{owner}/{repo}/issues/comments/{comment_id}", "delete"),
    ("/repos/{owner}/{repo}/issues/comments/{comment_id}", "patch"),
    ("/repos/{owner}/{repo}/issues/{issue_number}", "patch"),
    ("/repos/{owner}/{repo}/issues/{issue_number}/assignees", "delete"),
    ("/repos/{owner}/{repo}/issues/{issue_number}/assignees", "post"),
    ("/repos/{owner}/{repo}/issues/{issue_number}/comments", "post"),
    ("/repos/{owner}/{repo}/issues/{issue_number}/labels", "delete"),
    ("/repos/{owner}/{repo}/issues/{issue_number}/labels", "post"),
    ("/repos/{owner}/{repo}/issues/{issue_number}/labels", "put"),
    ("/repos/{owner}/{repo}/issues/{issue_number}/labels/{name}", "delete"),
    ("/repos/{owner}/{repo}/pulls", "post"),
    ("/repos/{owner}/{repo}/pulls/{pull_number}", "patch"),
    ("/repos/{owner}/{repo}/statuses/{sha}", "post"),
}
# Labels, milestones and locks, reviews, older forms, and memberships in teams.
BEYOND |= {
    ("/orgs/{org}/teams/{team_slug}/members/{username}", "get"),
    ("/orgs/{org}/teams/{team_slug}/memberships/{username}", "get"),
    ("/repos/{owner}/{repo}/assignees/{username}", "get"),
    ("/repos/{owner}/{repo}/git/refs", "get"),
    ("/repos/{owner}/{repo}/git/refs/{ref}", "get"),
    ("/repos/{owner}/{repo}/issues/comments", "get"),
    ("/repos/{owner}/{repo}/issues/{issue_number}/lock", "delete"),
    ("/repos/{owner}/{repo}/issues/{issue_number}/lock", "put"),
    ("/repos/{owner}/{repo}/labels", "post"),
    ("/repos/{owner}/{repo}/labels/{name}", "delete"),
    ("/repos/{owner}/{repo}/labels/{name}", "patch"),
    ("/repos/{owner}/{repo}/milestones", "post"),
    ("/repos/{owner}/{repo}/milestones/{milestone_number}", "delete"),
    ("/repos/{owner}/{repo}/milestones/{milestone_number}", "patch"),
    ("/repos/{owner}/{repo}/pulls/comments", "get"),
    ("/repos/{owner}/{repo}/pulls/comments/{comment_id}", "get"),
    ("/repos/{owner}/{repo}/pulls/{pull_number}/comments", "get"),
    ("/repos/{owner}/{repo}/pulls/{pull_number}/merge", "get"),
    ("/repos/{owner}/{repo}/pulls/{pull_number}/requested_reviewers", "get"),
    ("/repos/{owner}/{repo}/pulls/{pull_number}/reviews", "get"),
    ("/repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}", "get"),
    ("/repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}/comments", "get"),
}
# Workflows and jobs: `gh run list`, `gh run watch` and `gh workflow list` read them.
BEYOND |= {
    ("/repos/{owner}/{repo}/actions/jobs/{job_id}", "get"),
    ("/repos/{owner}/{repo}/actions/runs/{run_id}/artifacts", "get"),
    ("/repos/{owner}/{repo}/actions/runs/{run_id}/attempts/{attempt_number}", "get"),
    ("/repos/{owner}/{repo}/actions/runs/{run_id}/attempts/{attempt_number}/jobs", "get"),
    ("/repos/{owner}/{repo}/actions/runs/{run_id}/jobs", "get"),
    ("/repos/{owner}/{repo}/actions/workflows", "get"),
    ("/repos/{owner}/{repo}/actions/workflows/{workflow_id}", "get"),
    ("/repos/{owner}/{repo}/actions/workflows/{workflow_id}/runs", "get"),
}
# Dry runs of a filter, which only this hub offers.
BEYOND |= {
    ("/orgs/{org}/hooks/{hook_id}/filter/tests", "post"),
    ("/repos/{owner}/{repo}/hooks/{hook_id}/filter/tests", "post"),
}
# Pull delivery, the events and consumers of a hook, and the signing keys of Standard Webhooks.
BEYOND |= {
    ("/orgs/{org}/hooks/{hook_id}/ack", "post"),
    ("/orgs/{org}/hooks/{hook_id}/consumers", "get"),
    ("/orgs/{org}/hooks/{hook_id}/dequeue", "post"),
    ("/orgs/{org}/hooks/{hook_id}/events", "get"),
    ("/orgs/{org}/hooks/{hook_id}/extend", "post"),
    ("/orgs/{org}/hooks/{hook_id}/nack", "post"),
    ("/repos/{owner}/{repo}/hooks/{hook_id}/ack", "post"),
    ("/repos/{owner}/{repo}/hooks/{hook_id}/consumers", "get"),
    ("/repos/{owner}/{repo}/hooks/{hook_id}/dequeue", "post"),
    ("/repos/{owner}/{repo}/hooks/{hook_id}/events", "get"),
    ("/repos/{owner}/{repo}/hooks/{hook_id}/extend", "post"),
    ("/repos/{owner}/{repo}/hooks/{hook_id}/nack", "post"),
    ("/orgs/{org}/hooks/{hook_id}/keys", "get"),
    ("/orgs/{org}/hooks/{hook_id}/keys", "post"),
    ("/orgs/{org}/hooks/{hook_id}/keys/former", "delete"),
    ("/repos/{owner}/{repo}/hooks/{hook_id}/keys", "get"),
    ("/repos/{owner}/{repo}/hooks/{hook_id}/keys", "post"),
    ("/repos/{owner}/{repo}/hooks/{hook_id}/keys/former", "delete"),
}
ONLY_READ = "only a read is answered with 304"
# Statuses in the contract that an operation never sends, and the reason.
NOTHING_GIVEN = "the request has no value that could be invalid"
IMPOSSIBLE = {
    ("issues/delete-issue-field-value", "422"): NOTHING_GIVEN,
    ("orgs/delete-issue-field", "422"): NOTHING_GIVEN,
    ("oauth-authorizations/delete-grant", "304"): ONLY_READ,
    ("oauth-authorizations/create-authorization", "304"): ONLY_READ,
    ("oauth-authorizations/get-or-create-authorization-for-app", "304"): ONLY_READ,
    ("oauth-authorizations/delete-authorization", "304"): ONLY_READ,
    ("users/set-primary-email-visibility-for-authenticated-user", "304"): ONLY_READ,
    ("users/add-email-for-authenticated-user", "304"): ONLY_READ,
    ("users/delete-email-for-authenticated-user", "304"): ONLY_READ,
    ("oauth-authorizations/create-authorization", "410"): "the hub still serves this operation",
    ("rate-limit/get", "304"): "the response has no ETag, because it changes each time",
    ("repos/get-webhook-delivery", "422"): "the request has neither a body nor a query",
    ("orgs/get-webhook-delivery", "422"): "the same",
    ("apps/get-webhook-delivery", "422"): "the same",
    ("users/list-emails-for-authenticated-user", "404"): "the list may be empty",
    ("users/list-public-emails-for-authenticated-user", "404"): "the list may be empty",
    ("users/add-email-for-authenticated-user", "404"): "the authenticated user exists",
    (
        "interactions/get-pull-request-creation-cap-for-org",
        "405",
    ): "any organization may have a cap",
    ("interactions/update-pull-request-creation-cap-for-org", "405"): "the same",
    ("repos/list-invitations-for-authenticated-user", "404"): "the list may be empty",
    ("repos/accept-invitation-for-authenticated-user", "304"): ONLY_READ,
    ("repos/accept-invitation-for-authenticated-user", "451"): "the hub has no trade controls",
    ("repos/decline-invitation-for-authenticated-user", "304"): ONLY_READ,
}
# Operations that require credentials, although the contract does not, and the reason.
NARROWER = {
    "users/list-public-emails-for-authenticated-user": "an anonymous caller has no addresses",
}
# Members of the body that are optional in the hub, but required in the contract.
LENIENT = {"checks/create": {"status"}}
SCHEMES = {
    "bearer": "token",
    "basicUser": "password",
    "basicApp": "app",
    "appJwt": "appJwt",
    "installationToken": "token",
}


def both(line: tuple[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """An operation in the contract and in the server's own document."""
    path, method = line
    return contract().content["paths"][path][method], own().content["paths"][path][method]


def shared() -> list[tuple[str, str]]:
    return sorted(lines(contract()) & lines(own()))


each = pytest.mark.parametrize("line", shared(), ids=lambda line: f"{line[1]} {line[0]}")


def test_all_operations_are_here_but_for_the_missing_groups() -> None:
    assert len(lines(contract())) == 161 + 75
    left = {line: part_of(line) for line in lines(contract()) - lines(own())}
    assert {line: group for line, group in left.items() if group not in MISSING} == {}
    # If the hub serves a whole group, the group has to leave MISSING.
    assert {group for group in MISSING if group not in left.values()} == set()
    assert lines(own()) - lines(contract()) == BEYOND


def part_of(line: tuple[str, str]) -> int | str:
    """The `x-seed-group` of an operation in the specification, or else its `x-ring`."""
    described = contract().content["paths"][line[0]][line[1]]
    found: int | str = described.get("x-seed-group") or described["x-ring"]
    return found


@each
def test_an_operation_has_the_contract_s_name_and_statuses(line: tuple[str, str]) -> None:
    theirs, ours = both(line)
    name = theirs["operationId"]
    assert ours["operationId"] == name
    absent = set(theirs["responses"]) - set(ours["responses"])
    assert absent == {status for one, status in IMPOSSIBLE if one == name}
    successes = [{status for status in one["responses"] if status < "300"} for one in both(line)]
    assert successes[0] == successes[1]
    assert theirs.get("deprecated", False) <= ours.get("deprecated", False)


@each
def test_an_operation_has_the_contract_s_security(line: tuple[str, str]) -> None:
    theirs, ours = both(line)
    wanted = [{SCHEMES[name]: [] for name in one} for one in theirs["security"]]
    if theirs["operationId"] in NARROWER:
        wanted.remove({})
    assert ours["security"] == wanted


@each
def test_an_operation_has_the_contract_s_parameters(line: tuple[str, str]) -> None:
    theirs, ours = (
        parameters(document, one)
        for document, one in zip((contract(), own()), both(line), strict=True)
    )
    assert {name: ours.get(name) for name in theirs} == theirs
    # Parameters beyond the contract have to be optional.
    assert not any(needed for name, needed in ours.items() if name not in theirs)


def parameters(document: Described, operation: dict[str, Any]) -> dict[tuple[str, str], bool]:
    """Whether each parameter is required, by its place and name."""
    found = [resolved(document, one) for one in operation["parameters"]]
    return {(one["in"], one["name"]): one.get("required", False) for one in found}


def resolved(document: Described, part: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in part:
        _, kind, name = part["$ref"].rsplit("/", 2)
        part = document.content["components"][kind][name]
    return part


@each
def test_request_body_matches_the_contract(line: tuple[str, str]) -> None:
    theirs, ours = both(line)
    assert ("requestBody" in theirs) == ("requestBody" in ours)
    if "requestBody" not in theirs:
        return
    lenient = LENIENT.get(theirs["operationId"], set())
    for kind, media in theirs["requestBody"]["content"].items():
        wanted = members(contract(), media["schema"])
        taken = members(own(), ours["requestBody"]["content"][kind]["schema"])
        assert wanted.keys() <= taken.keys()
        needed = {name for name in wanted if wanted[name]} - lenient
        assert {name for name in taken if taken[name]} == needed
    # If the body is optional in the contract, it is optional in the hub.
    assert ours["requestBody"]["required"] <= theirs["requestBody"].get("required", False)


@each
def test_a_body_forbids_no_more_than_the_contract(line: tuple[str, str]) -> None:
    theirs, ours = both(line)
    for kind, media in theirs.get("requestBody", {"content": {}})["content"].items():
        taken = ours["requestBody"]["content"][kind]["schema"]
        wanted = open_to_more(contract(), media["schema"])
        assert {
            place: (open_, wanted[place])
            for place, open_ in open_to_more(own(), taken).items()
            if wanted.get(place, open_) and not open_
        } == {}


def open_to_more(
    document: Described, schema: dict[str, Any], place: str = "body"
) -> dict[str, bool]:
    """Whether each object of a body may have undeclared members, by its place."""
    schema = resolved(document, schema)
    found: dict[str, bool] = {}
    for one in (*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())):
        for where, open_ in open_to_more(document, one, place).items():
            found[where] = found.get(where, False) or open_
    if schema.get("type") == "object":
        found[place] = found.get(place, False) or schema.get("additionalProperties") is not False
    for name, member in schema.get("properties", {}).items():
        found |= open_to_more(document, member, f"{place}/{name}")
    if "items" in schema:
        found |= open_to_more(document, schema["items"], f"{place}[]")
    return found


def members(document: Described, schema: dict[str, Any]) -> dict[str, bool]:
    """Whether each member of an object is required. All alternatives are taken together."""
    schema = resolved(document, schema)
    found = {name: name in schema.get("required", ()) for name in schema.get("properties", {})}
    for one in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        found |= members(document, one)
    return found


async def test_hooks_and_their_deliveries(client: httpx.AsyncClient, store: Store) -> None:
    async def ask(method: str, path: str, status: int, **how: Any) -> Any:
        answer = await client.request(method, path, **how)
        assert answer.status_code == status, answer.text
        return answer.json() if answer.content else None

    config = {"url": "https://receiver.example/in", "secret": "s"}
    hook = await ask("POST", HOOKS, 201, json={"config": config, "events": ["*"]})
    path = f"{HOOKS}/{hook['id']}"
    await client.post("/octo/hello/events/push", json={})
    attempted(store, hook["id"])
    await ask("GET", HOOKS, 200)
    await ask("GET", path, 200)
    await ask("PATCH", f"{path}/config", 200, json={"insecure_ssl": "1"})
    await ask("POST", f"{path}/pings", 204)
    await ask("POST", f"{path}/tests", 204)
    attempted(store, hook["id"], status=None, error="connect: refused")
    found = await ask("GET", f"{path}/deliveries", 200)
    assert {one["status_code"] for one in found} == {0, 200}
    for item in found:
        await ask("GET", f"{path}/deliveries/{item['id']}", 200)
        await ask("POST", f"{path}/deliveries/{item['id']}/attempts", 202)


async def test_repository_and_sender_of_an_event_match_the_contract(
    client: httpx.AsyncClient, store: Store
) -> None:
    await client.post(HOOKS, json={"config": {"url": "https://receiver.example/"}})
    (ping,) = bodies(store, "ping")
    for member, name in (("repository", "minimal-repository"), ("sender", "simple-user")):
        schema = {"$ref": f"#/components/schemas/{name}"}
        contract().validator({"schema": schema}).validate(ping[member])
