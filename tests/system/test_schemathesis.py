"""schemathesis checks the running server against its own OpenAPI document."""

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
# Random requests for each operation. Its schema adds about 35. More examples or another seed may
# find other errors.
EXAMPLES = os.environ.get("TOCSIN_TEST_EXAMPLES", str(often(3, 40)))
SEED = os.environ.get("TOCSIN_TEST_SEED", "1")
HERE = Path(__file__).parent
# hypothesis keeps its tables of characters here, as in other tests. Making them takes seconds.
TABLES = HERE.parents[1] / ".hypothesis"
# High limits: otherwise the server would refuse most requests after many failed logins.
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
# Operations that may refuse a request that fits their schema: the statuses, and the input that the
# schema cannot exclude.
DIGEST = "an invalid digest"
NO_POINT = "a whole number with a decimal point (1.0)"
JUDGED = {
    "actions/get-concurrency-group-for-repository": (["422"], "a run that is not in the group"),
    "actions/list-concurrency-groups-for-repository": (["422"], "a cursor that no answer gave"),
    "actions/list-concurrency-groups-for-workflow-run": (["422"], "a cursor that no answer gave"),
    "repos/list-webhook-deliveries": (["400"], "a cursor that no answer gave"),
    "actions/list-workflow-runs-for-repo": (["422"], "an invalid time range"),
    "agents/create-org-variable": (["422"], "an invalid variable name"),
    "agents/set-selected-repos-for-org-variable": (["422"], NO_POINT),
    "agents/update-org-variable": (["422"], "an invalid variable name"),
    "assistant/add-assistant-seats-for-teams": (["422"], "a team outside the organization"),
    "assistant/add-assistant-seats-for-users": (["422"], "a user outside the organization"),
    "assistant/cancel-assistant-seat-assignment-for-teams": (["422"], "an unknown team"),
    "assistant/cancel-assistant-seat-assignment-for-users": (["422"], "an unknown user"),
    "devenvs/create-or-update-repo-secret": (["422"], "a value not sealed with the public key"),
    "interactions/remove-pull-request-bypass-list-for-repo": (["422"], "an unknown user"),
    "interactions/set-pull-request-bypass-list-for-repo": (["422"], "an unknown user"),
    "interactions/update-pull-request-creation-cap-for-org": (["422"], NO_POINT),
    "interactions/update-pull-request-creation-cap-for-repo": (["422"], NO_POINT),
    "issues/add-issue-field-values": (["422"], "an unknown field or option"),
    "issues/create": (["422"], "an empty title, an unknown milestone"),
    "issues/create-comment": (["422"], "an empty comment"),
    "issues/create-label": (["422"], "a name that is in use, a color that is none"),
    "issues/create-milestone": (["422"], "a title that is in use"),
    "issues/list-for-repo": (["422"], "an invalid milestone"),
    "issues/update": (["422"], "an empty title, an unknown milestone"),
    "issues/update-comment": (["422"], "an empty comment"),
    "issues/update-label": (["422"], "a name that is in use, a color that is none"),
    "issues/update-milestone": (["422"], "a title that is in use"),
    "issues/list-events-for-timeline": (["400"], "an unknown event in `exclude`"),
    "issues/set-issue-field-values": (["422"], "an unknown field or option"),
    "migrations/start-import": (["422"], "a source URL that is not allowed"),
    "migrations/update-import": (["422"], "a source URL that is not allowed"),
    "orgs/create-artifact-deployment-record": (["422"], DIGEST),
    "orgs/create-artifact-storage-record": (["422"], f"{DIGEST}, URLs that are not https"),
    "orgs/create-issue-field": (["422"], f"options that do not fit the type, {NO_POINT}"),
    "orgs/update-issue-field": (["422"], f"options that do not fit the type, {NO_POINT}"),
    "secret-scanning/update-org-pattern-configs": (["422"], "an unknown pattern"),
    "orgs/create-cluster-deployment-records-job": (["422"], DIGEST),
    "orgs/set-cluster-deployment-records": (["422"], DIGEST),
    "pulls/create": (["422"], "unknown branches"),
    "pulls/list": (["422"], "a head without its owner"),
    "pulls/update": (["422"], "a base other than the present one"),
    **{
        f"{target}/{name}": (["422"], "a hook whose deliveries are pushed")
        for target in ("repos", "orgs")
        for name in (
            "dequeue-webhook-deliveries",
            "acknowledge-webhook-deliveries",
            "reject-webhook-deliveries",
            "extend-webhook-leases",
        )
    },
    "repos/create-commit-status": (["422"], "a URL that is not http or https"),
    "repos/list-for-authenticated-user": (["422"], "an invalid list of affiliations"),
    "repos/add-collaborator": (["422"], "an unknown permission"),
    "repos/create-commit-comment": (["422"], f"an empty comment, {NO_POINT}"),
    "repos/get-org-rule-suites": (["422"], "wildcards in a ref"),
    "repos/get-repo-rule-suites": (["422"], "wildcards in a ref"),
    "repos/update-commit-comment": (["422"], "an empty comment"),
    "apps/delete-authorization": (["422"], "a token that the application does not have"),
    "apps/delete-token": (["422"], "a token that the application does not have"),
    "apps/scope-token": (["422"], "an unknown target or repository"),
    "oauth-authorizations/create-authorization": (
        ["422"],
        "a wrong client secret, a note that is in use",
    ),
    "oauth-authorizations/get-or-create-authorization-for-app": (
        ["422"],
        "a wrong client secret",
    ),
    "oauth-authorizations/get-or-create-authorization-for-app-and-fingerprint": (
        ["422"],
        "a wrong client secret",
    ),
    "oauth-authorizations/update-authorization": (
        ["422"],
        "two ways to change scopes, unknown scopes, a note that is in use",
    ),
    "users/add-email-for-authenticated-user": (["422"], "an address that is in use"),
    "users/delete-email-for-authenticated-user": (["422"], "an address that cannot be removed"),
    "repos/create-webhook": (["422"], "a callback URL that is not allowed"),
    "repos/update-webhook": (["422"], "a forbidden callback URL, unknown events"),
    "repos/update-webhook-config-for-repo": (["422"], "a callback URL that is not allowed"),
    "repos/test-webhook-filter": (["422"], "a hook without a filter, an unknown event"),
    "repos/rotate-webhook-signing-key": (["422"], f"an invalid private key, {NO_POINT}"),
    "orgs/rotate-webhook-signing-key": (["422"], f"an invalid private key, {NO_POINT}"),
    "orgs/test-webhook-filter": (["422"], "a hook without a filter, an unknown event"),
    "orgs/create-webhook": (["422"], "a forbidden callback URL, unknown events"),
    "orgs/update-webhook": (["422"], "a forbidden callback URL, unknown events"),
    "orgs/update-webhook-config-for-org": (["422"], "a callback URL that is not allowed"),
    "repos/hub": (["422"], "an unknown topic, a callback URL that is not allowed"),
    "events/post-to-topic": (["422"], "an unknown event"),
    "events/receive-webhook": (["400", "422"], "an invalid event name, also in a line of a batch"),
    "usage/report": (["400", "422"], "lines that are not usage records"),
}
# Parameters with existing values: the operations, and the dictionary with the values.
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
# A DELETE whose path ends with one of these does not delete the object that it names.
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
    "HYPOTHESIS_STORAGE_DIRECTORY": str(TABLES),
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
# A path answers 404 for a method that it does not have, as the platform does.
unexpected-methods = []
"""
ACCEPTED = ["2xx", "3xx", "401", "403", "404", "409"]


async def test_the_document_holds(site: Site, tmp_path: Path) -> None:
    """Run all checks for every operation and other endpoint. JUDGED relaxes one check."""
    with site.opened() as store:
        (tmp_path / "schemathesis.toml").write_text("\n".join(settings(store)))
    # There is no worker, because nothing may be delivered to the generated URLs.
    daemon = await site.serve("--only", "hub", **UNLIMITED)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "schemathesis.cli", "--config-file", "schemathesis.toml",
        "run", f"{daemon.url}/openapi.json", "--checks", "all", "--max-examples", EXAMPLES,
        "--seed", SEED, "--continue-on-failure", "--no-shrink", "--no-color",
        "--generation-database", "none",
        # The time to generate a request depends on the machine.
        "--suppress-health-check", "too_slow",
        cwd=tmp_path,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=os.environ | HOOKS,
    )  # fmt: skip
    await done(process, SECONDS)


def settings(store: Store) -> Iterator[str]:
    """Yield the lines of schemathesis.toml: credentials, and values that exist in the store."""
    # The import takes a third of a second, which runs without this test save.
    from generated_requests import UNSIGNED

    world = make(store)
    token = world.token(scopes=SCOPES)["Authorization"].partition(" ")[2]
    yield HEAD.format(token=token, unsigned=UNSIGNED, password=PASSWORD, secret=SECRET)
    for name, values in (_there(world) | store.write_sync(_deletable, world)).items():
        yield f"[dictionaries.{name}]"
        yield f"values = {json.dumps(values)}"
    lines = [(one.id, one.method, one.path) for one in OPERATIONS]
    lines += [(door.name, *line.split(" ")) for line, door in OTHER_ENDPOINTS.items()]
    yield "[parameters]"
    for parameter in sorted({one for _, _, path in lines for one in PARAMETER.findall(path)}):
        yield _bound(f"path.{parameter}", parameter)
    # schemathesis searches all sections for each request. So operations with the same settings
    # share a section, and operations without settings have none.
    sections: dict[tuple[str, ...], list[str]] = {}
    for name, method, path in lines:
        sections.setdefault(tuple(_operation(name, method, path)), []).append(name)
    sections.pop((), None)
    for found, names in sections.items():
        yield from ("[[operations]]", f"include-operation-id = {json.dumps(names)}", *found)


def _there(world: World) -> dict[str, list[object]]:
    """Return the existing values for path parameters and members of bodies, by name."""
    found = {name: [sample.own(world)] for name, sample in SAMPLES.items()}
    token, _ = world.store.write_sync(
        lambda db: grants.issue(db, world.lab, world.octo.account["id"])
    )
    hook_id = SAMPLES["hook_id"].own(world)
    key_set = world.store.write_sync(lambda db: signing_keys.ensure(db, hook_id, None))
    # These belong to reader, who has the password. Deleting octo's would end octo's token.
    found |= {"grant_id": [world.reader.grant], "authorization_id": [world.reader.authorization]}
    return {
        **found,
        # schemathesis does not send a slash in a path parameter, not even a quoted one.
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
