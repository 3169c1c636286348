"""The running server against its own OpenAPI document: requests that schemathesis makes up."""

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from daemon import Site, done
from deletable_rows import deletable
from operations_world import PASSWORD, SAMPLES, SECRET, World, make
from thoroughness import often

from hub.openapi.other_endpoints import OTHER_ENDPOINTS
from hub.operations import OPERATIONS
from hub.rest.resolve import PARAMETER
from store import Connection, Store
from store.accounts import grants
from store.hooks import signing_keys

SECONDS = 1800
# Requests by chance for each operation. About 35 more for each follow from its schema. More
# examples, or another seed, find other things: for whoever looks for them.
EXAMPLES = os.environ.get("TOCSIN_TEST_EXAMPLES", str(often(3, 40)))
SEED = os.environ.get("TOCSIN_TEST_SEED", "1")
HERE = Path(__file__).parent
# Nobody who guesses is shut out: that would be all there is to see.
UNLIMITED = {
    "TOCSIN_FAILED_LOGINS": "1000000",
    "TOCSIN_FAILED_LOGINS_ADDRESS": "1000000",
    "TOCSIN_FAILED_TOKENS": "1000000",
    "TOCSIN_RATE_LIMITING": "true",
    "TOCSIN_RATE_LIMITS": '{"core": 1000000}',
    "TOCSIN_RATE_LIMITS_ANONYMOUS": '{"core": 1000000}',
    "TOCSIN_POINTS_PER_MINUTE": "1000000",
    "TOCSIN_CONTENT_PER_MINUTE": "1000000",
    "TOCSIN_CONTENT_PER_HOUR": "1000000",
    "TOCSIN_ALLOW_NETWORKS": "192.0.2.0/24",
}
# Operations that may refuse what is of the right form: with which statuses, and why no schema can
# tell.
DIGEST = "a digest that is none"
NO_POINT = "a whole number that is written with a point"
JUDGED = {
    "actions/get-concurrency-group-for-repository": (["422"], "a run that is not in the group"),
    "actions/list-concurrency-groups-for-repository": (["422"], "a cursor of no answer's"),
    "actions/list-concurrency-groups-for-workflow-run": (["422"], "a cursor of no answer's"),
    "repos/list-webhook-deliveries": (["400"], "a cursor of no answer's"),
    "actions/list-workflow-runs-for-repo": (["422"], "a search for times that is none"),
    "agents/create-org-variable": (["422"], "what is no name of a variable"),
    "agents/set-selected-repos-for-org-variable": (["422"], NO_POINT),
    "agents/update-org-variable": (["422"], "what is no name of a variable"),
    "assistant/add-assistant-seats-for-teams": (["422"], "no team of the organization"),
    "assistant/add-assistant-seats-for-users": (["422"], "no member of the organization"),
    "assistant/cancel-assistant-seat-assignment-for-teams": (["422"], "no team of it"),
    "assistant/cancel-assistant-seat-assignment-for-users": (["422"], "no member of it"),
    "devenvs/create-or-update-repo-secret": (["422"], "what was not sealed with the public key"),
    "interactions/remove-pull-request-bypass-list-for-repo": (["422"], "nobody of that name"),
    "interactions/set-pull-request-bypass-list-for-repo": (["422"], "nobody of that name"),
    "interactions/update-pull-request-creation-cap-for-org": (["422"], NO_POINT),
    "interactions/update-pull-request-creation-cap-for-repo": (["422"], NO_POINT),
    "issues/add-issue-field-values": (["422"], "a field or an option of nobody's"),
    "issues/create": (["422"], "a title of nothing, an unknown milestone"),
    "issues/create-comment": (["422"], "a comment of nothing"),
    "issues/list-for-repo": (["422"], "a milestone that is none"),
    "issues/update": (["422"], "a title of nothing, an unknown milestone"),
    "issues/update-comment": (["422"], "a comment of nothing"),
    "issues/list-events-for-timeline": (["400"], "an event to leave out that is none"),
    "issues/set-issue-field-values": (["422"], "a field or an option of nobody's"),
    "migrations/start-import": (["422"], "an address that may not be used"),
    "migrations/update-import": (["422"], "an address that may not be used"),
    "orgs/create-artifact-deployment-record": (["422"], DIGEST),
    "orgs/create-artifact-storage-record": (["422"], f"{DIGEST}, addresses that are not https"),
    "orgs/create-issue-field": (["422"], f"options that its type has or has not, {NO_POINT}"),
    "orgs/update-issue-field": (["422"], f"options that its type has not, {NO_POINT}"),
    "secret-scanning/update-org-pattern-configs": (["422"], "a pattern that there is not"),
    "orgs/create-cluster-deployment-records-job": (["422"], DIGEST),
    "orgs/set-cluster-deployment-records": (["422"], DIGEST),
    "pulls/create": (["422"], "branches that there are not"),
    "pulls/list": (["422"], "a head without its owner"),
    "pulls/update": (["422"], "another base"),
    **{
        f"{target}/{name}": (["422"], "a hook that is sent its deliveries")
        for target in ("repos", "orgs")
        for name in (
            "dequeue-webhook-deliveries",
            "acknowledge-webhook-deliveries",
            "reject-webhook-deliveries",
            "extend-webhook-leases",
        )
    },
    "repos/create-commit-status": (["422"], "an address that is none of the web"),
    "repos/list-for-authenticated-user": (["422"], "a list of affiliations that is none"),
    "repos/add-collaborator": (["422"], "a permission that is none"),
    "repos/create-commit-comment": (["422"], f"a comment of nothing, {NO_POINT}"),
    "repos/get-org-rule-suites": (["422"], "wildcards in a ref"),
    "repos/get-repo-rule-suites": (["422"], "wildcards in a ref"),
    "repos/update-commit-comment": (["422"], "a comment of nothing"),
    "apps/delete-authorization": (["422"], "a token that is none of the application's"),
    "apps/delete-token": (["422"], "a token that is none of the application's"),
    "apps/scope-token": (["422"], "who the token is for, and what may be seen with it"),
    "oauth-authorizations/create-authorization": (
        ["422"],
        "an application's secret, a note that is taken",
    ),
    "oauth-authorizations/get-or-create-authorization-for-app": (
        ["422"],
        "an application's secret",
    ),
    "oauth-authorizations/get-or-create-authorization-for-app-and-fingerprint": (
        ["422"],
        "the same",
    ),
    "oauth-authorizations/update-authorization": (
        ["422"],
        "scopes in two ways, unknown ones, a taken note",
    ),
    "users/add-email-for-authenticated-user": (["422"], "an address that is taken"),
    "users/delete-email-for-authenticated-user": (["422"], "an address that has to stay"),
    "repos/create-webhook": (["422"], "a callback that may not be used"),
    "repos/update-webhook": (["422"], "a callback that may not be used, unknown events"),
    "repos/update-webhook-config-for-repo": (["422"], "a callback that may not be used"),
    "repos/test-webhook-filter": (["422"], "a hook without a filter, an event of nobody's"),
    "repos/rotate-webhook-signing-key": (["422"], f"a key that is none, {NO_POINT}"),
    "orgs/rotate-webhook-signing-key": (["422"], f"a key that is none, {NO_POINT}"),
    "orgs/test-webhook-filter": (["422"], "a hook without a filter, an event of nobody's"),
    "orgs/create-webhook": (["422"], "a callback that may not be used, unknown events"),
    "orgs/update-webhook": (["422"], "a callback that may not be used, unknown events"),
    "orgs/update-webhook-config-for-org": (["422"], "a callback that may not be used"),
    "repos/hub": (["422"], "a topic that is none, a callback that may not be used"),
    "events/post-to-topic": (["422"], "an unknown event"),
    "events/receive-webhook": (["400", "422"], "the event's name, which a batch says line by line"),
    "usage/report": (["400", "422"], "lines of anything"),
}
# Members of bodies that are given what there is: to which operations, and from which dictionary.
BODIES = {
    "body.access_token": (
        (
            "apps/check-token",
            "apps/scope-token",
            "apps/reset-token",
            "apps/delete-token",
            "apps/delete-authorization",
        ),
        "access_token",
    ),
    "body.config.url": (
        (
            "repos/create-webhook",
            "repos/update-webhook",
            "orgs/create-webhook",
            "orgs/update-webhook",
        ),
        "url",
    ),
    "body.url": (
        ("repos/update-webhook-config-for-repo", "orgs/update-webhook-config-for-org"),
        "url",
    ),
    "query.source": (("events/receive-webhook", "usage/report"), "source"),
}
DELETABLE = "deletable_"
# A path that ends in it takes something from the list, or adds to it, and never ends it.
STAYS = (
    "client_id",
    "enterprise-team",
    "issue_number",
    "org",
    "repo",
    "repository_id",
    "username",
)
HOOKS = {
    "PYTHONPATH": str(HERE),
    "SCHEMATHESIS_HOOKS": "generated_requests",
    "TOCSIN_SOURCE_SECRET": SECRET,
}
RECEIVER = "https://192.0.2.7/in"
SCOPES = ["repo", "user", "admin:repo_hook", "admin:org", "admin:org_hook"]
HEAD = """
[auth.openapi.token]
bearer = "{token}"
[auth.openapi.signature]
api_key = "{unsigned}"
[auth.openapi.password]
username = "reader"
password = "{password}"
[auth.openapi.app]
username = "lab-client"
password = "{secret}"
[phases.coverage]
# The answer to a method that a path has not is 404, as the platform's.
unexpected-methods = []
"""
ACCEPTED = ["2xx", "3xx", "401", "403", "404", "409"]


async def test_the_document_holds(site: Site, tmp_path: Path) -> None:
    """All checks, for every operation and door; JUDGED are the exceptions to one of them."""
    with site.opened() as store:
        (tmp_path / "schemathesis.toml").write_text("\n".join(settings(store)))
    # Nothing is to be delivered to the addresses that are made up.
    daemon = await site.serve("--only", "hub", **UNLIMITED)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "schemathesis.cli", "--config-file", "schemathesis.toml",
        "run", f"{daemon.url}/openapi.json", "--checks", "all", "--max-examples", EXAMPLES,
        "--seed", SEED, "--continue-on-failure", "--no-shrink", "--no-color",
        "--generation-database", "none",
        # How long it takes to make up a request is the machine's affair.
        "--suppress-health-check", "too_slow",
        cwd=tmp_path,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=os.environ | HOOKS,
    )  # fmt: skip
    await done(process, SECONDS)


def settings(store: Store) -> Iterator[str]:
    """Those of schemathesis, line by line: credentials, and what there is to be found."""
    # It takes a third of a second, which a run without this test need not wait for.
    from generated_requests import UNSIGNED

    world = make(store)
    token = world.token(scopes=SCOPES)["Authorization"].partition(" ")[2]
    yield HEAD.format(token=token, unsigned=UNSIGNED, password=PASSWORD, secret=SECRET)
    for name, values in (_there(world) | store.do(_deletable, world)).items():
        yield f"[dictionaries.{name}]"
        yield f"values = {json.dumps(values)}"
    lines = [(one.id, one.method, one.path) for one in OPERATIONS]
    lines += [(door.name, *line.split(" ")) for line, door in OTHER_ENDPOINTS.items()]
    yield "[parameters]"
    for parameter in sorted({one for _, _, path in lines for one in PARAMETER.findall(path)}):
        yield _bound(f"path.{parameter}", parameter)
    # Each section is looked through for each request: one for all operations with the same
    # settings, and none for an operation without any.
    sections: dict[tuple[str, ...], list[str]] = {}
    for name, method, path in lines:
        sections.setdefault(tuple(_operation(name, method, path)), []).append(name)
    sections.pop((), None)
    for found, names in sections.items():
        yield from ("[[operations]]", f"include-operation-id = {json.dumps(names)}", *found)


def _there(world: World) -> dict[str, list[object]]:
    """The values of the world for path parameters, and for members of bodies."""
    found = {name: [sample.own(world)] for name, sample in SAMPLES.items()}
    token, _ = world.store.do(lambda db: grants.issue(db, world.lab, world.octo.account["id"]))
    hook_id = SAMPLES["hook_id"].own(world)
    key_set = world.store.do(lambda db: signing_keys.ensure(db, hook_id, None))
    # The password is reader's, so that it does not end the token that is octo's.
    found |= {"grant_id": [world.reader.grant], "authorization_id": [world.reader.authorization]}
    return {
        **found,
        # A slash in a path, even quoted, is nothing that it would send.
        "ref": ["main"],
        "event": ["push"],
        "report_id": [1],
        "key_set": [key_set],
        "source": ["forge"],
        "access_token": [token],
        "url": [RECEIVER],
    }


def _deletable(db: Connection, world: World) -> dict[str, list[object]]:
    return {f"{DELETABLE}{name}": rows for name, rows in deletable(db, world, RECEIVER).items()}


def _operation(name: str, method: str, path: str) -> Iterator[str]:
    if name in JUDGED:
        statuses, _ = JUDGED[name]
        expected = json.dumps(ACCEPTED + statuses)
        yield f"checks.positive_data_acceptance.expected-statuses = {expected}"
    ends = method == "DELETE" or name == "apps/reset-token"
    parameters = PARAMETER.findall(path)
    if ends and parameters and parameters[-1] not in STAYS:
        yield _in_operation(f"path.{parameters[-1]}", DELETABLE + parameters[-1])
    for member, (names, dictionary) in BODIES.items():
        if name in names:
            deletable = DELETABLE if ends else ""
            yield _in_operation(member, deletable + dictionary, 0.9)


def _in_operation(parameter: str, dictionary: str, share: float = 1.0) -> str:
    return f"parameters.{_bound(parameter, dictionary, share)}"


def _bound(parameter: str, dictionary: str, share: float = 1.0) -> str:
    return f'"{parameter}" = {{ dictionary = "{dictionary}", probability = {share} }}'
