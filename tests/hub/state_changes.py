"""A sequence of requests that change something, and the events that each request publishes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from operations_world import SECRET, World
from sealed_values import sealed

from store import Row
from store.accounts import grants
from store.devenvs import devenv_keys

Body = dict[str, Any] | list[Any] | None
DIGEST = f"sha256:{'c' * 64}"
CLUSTER = {"logical_environment": "production"}
HERE: dict[str, Any] = {"owner": "acme", "repo": "tools", "issue_number": 5}


@dataclass(frozen=True)
class Step:
    """A request, and the events that it publishes.

    The path leads to rows that octo may see, but `changed` replaces its parameters. `reported` has
    the events in order.
    """

    operation: str
    reported: tuple[str, ...]
    body: Body | Callable[[World], Body] = None
    changed: dict[str, Any] = field(default_factory=dict)
    by: str = ""
    """The caller: octo by default; `app`: mill itself; `mill`: octo by a token of that app."""


def step(operation: str, reported: str, body: Any = None, by: str = "", **changed: Any) -> Step:
    """A step. `reported` has its events, separated by spaces."""
    return Step(operation, tuple(reported.split()), body, changed, by)


def _held(app: str) -> Callable[[World], Body]:
    """A function that gives an app a token of octo's. It returns the body that names the token."""

    def made(world: World) -> Body:
        row: Row = getattr(world, app)
        value, _ = world.store.write_sync(grants.issue, row, world.octo.account["id"])
        return {"access_token": value}

    return made


def _grant(app: str) -> Callable[[World], int]:
    def made(world: World) -> int:
        _held(app)(world)
        account_id, row = world.octo.account["id"], getattr(world, app)
        found = world.store.read_sync(grants.of_app, account_id, row["id"])
        assert found is not None
        number: int = found["id"]
        return number

    return made


def _newest(table: str, column: str = "id") -> Callable[[World], int]:
    def found(world: World) -> int:
        sql = f"SELECT max({column}) FROM {table}"
        number: int = world.store.read_sync(lambda db: db.value(sql))
        return number

    return found


def _scoped(world: World) -> Body:
    body = _held("mill")(world)
    assert isinstance(body, dict)
    return body | {"target": "octo", "permissions": {"contents": "read"}}


def _secret(world: World) -> Body:
    key = world.store.write_sync(devenv_keys.make, world.hello.repo["id"])
    return sealed(key | {"key": key["public_key"]})


def _selected(world: World) -> Body:
    return {"selected_repository_ids": [world.acme.repo["id"]]}


def _values(value: int | None) -> Callable[[World], Body]:
    return lambda world: {
        "issue_field_values": []
        if value is None
        else [{"field_id": world.acme.issue_field, "value": value}]
    }


def _deployed(status: str) -> dict[str, Any]:
    return {
        "name": "bell",
        "digest": DIGEST,
        "deployment_name": "bell-1",
        "status": status,
        "github_repository": "tools",
    }


STORED = {
    "name": "bell",
    "digest": DIGEST,
    "registry_url": "https://registry.example/",
    "github_repository": "tools",
}
SAID = HERE | {"comment_id": _newest("issue_comment", "number")}
DUE: dict[str, Any] = {"milestone_number": _newest("milestone", "number")}
READS, WRITES = {"permission": "pull"}, {"permission": "push"}
LIMIT = {"limit": "existing_users"}
RUN = {"name": "ring", "head_sha": "1" * 40, "status": "in_progress"}
DONE = {"status": "completed", "conclusion": "success"}

STEPS: tuple[Step, ...] = (
    # Authorizations and tokens
    step("oauth-authorizations/create-authorization", "authorization.created", {"note": "one"}),
    step(
        "oauth-authorizations/get-or-create-authorization-for-app",
        "authorization.created",
        {"client_secret": SECRET, "scopes": ["gist"]},
    ),
    step(
        "oauth-authorizations/get-or-create-authorization-for-app",
        "",
        {"client_secret": SECRET, "scopes": ["gist"]},
    ),
    step(
        "oauth-authorizations/get-or-create-authorization-for-app-and-fingerprint",
        "authorization.created",
        {"client_secret": SECRET},
        fingerprint="tower",
    ),
    step("oauth-authorizations/update-authorization", "authorization.edited", {"note": "two"}),
    step("oauth-authorizations/delete-authorization", "authorization.deleted"),
    step("apps/reset-token", "authorization.reset", _held("lab")),
    step("apps/delete-token", "authorization.deleted", _held("lab")),
    step("apps/scope-token", "authorization.created", _scoped, by="app", client_id="mill-client"),
    step("apps/delete-authorization", "application_grant.deleted", _held("lab")),
    step(
        "apps/delete-authorization",
        "github_app_authorization.revoked",
        _held("mill"),
        by="app",
        client_id="mill-client",
    ),
    step("oauth-authorizations/delete-grant", "application_grant.deleted", grant_id=_grant("lab")),
    step(
        "oauth-authorizations/delete-grant",
        "github_app_authorization.revoked",
        grant_id=_grant("mill"),
    ),
    # Issue fields
    step("issues/add-issue-field-values", "issues.field_added", _values(5), **HERE),
    step("issues/set-issue-field-values", "issues.field_added", _values(6), **HERE),
    step("issues/set-issue-field-values", "issues.field_removed", _values(None), **HERE),
    step("issues/add-issue-field-values", "issues.field_added", _values(8), **HERE),
    step("issues/add-issue-field-values", "", _values(8), **HERE),
    step("issues/delete-issue-field-value", "issues.field_removed", **HERE),
    step("orgs/create-issue-field", "issue_field.created", {"name": "Size", "data_type": "text"}),
    step("orgs/update-issue-field", "issue_field.edited", {"description": "how much"}),
    step("orgs/update-issue-field", "", {"description": "how much"}),
    step("orgs/delete-issue-field", "issue_field.deleted"),
    # Issues and pull requests
    step("issues/create", "issues.opened", {"title": "A dent"}, **HERE),
    step(
        "issues/create",
        "label.created issues.opened issues.milestoned issues.labeled issues.assigned",
        {"title": "A hole", "milestone": 5, "labels": ["bell"], "assignees": ["octo"]},
        **HERE,
    ),
    step(
        "issues/update",
        "label.created issues.edited issues.milestoned issues.labeled issues.assigned"
        " issues.closed",
        {"title": "Two cracks", "labels": ["loud"], "assignees": ["octo"]}
        | {"milestone": 5, "state": "closed"},
        **HERE,
    ),
    step("issues/update", "", {"title": "Two cracks", "labels": ["loud"]}, **HERE),
    step(
        "issues/update",
        "issues.demilestoned issues.unlabeled issues.unassigned issues.reopened",
        {"labels": [], "assignees": [], "milestone": None, "state": "open"},
        **HERE,
    ),
    step(
        "issues/update",
        "pull_request.edited pull_request.demilestoned pull_request.unlabeled"
        " pull_request.assigned pull_request.closed",
        {"body": "Wrong", "labels": [], "assignees": ["octo"], "milestone": None}
        | {"state": "closed"},
    ),
    step(
        "issues/update",
        "pull_request.milestoned pull_request.labeled pull_request.unassigned"
        " pull_request.reopened",
        {"labels": ["REGION"], "assignees": [], "milestone": 7, "state": "open"},
    ),
    step("issues/add-labels", "label.created issues.labeled", {"labels": ["soft"]}, **HERE),
    step("issues/add-labels", "", ["Soft"], **HERE),
    step("issues/add-labels", "label.created pull_request.labeled", ["soft"]),
    step(
        "issues/set-labels",
        "label.created issues.unlabeled issues.labeled",
        {"labels": ["hard"]},
        **HERE,
    ),
    step(
        "issues/set-labels",
        "label.created pull_request.unlabeled pull_request.labeled",
        {"labels": ["REGION", "hard"]},
    ),
    step("issues/remove-label", "issues.unlabeled", name="hard", **HERE),
    step("issues/remove-label", "pull_request.unlabeled", name="hard"),
    step("issues/add-labels", "issues.labeled", ["hard"], **HERE),
    step("issues/remove-all-labels", "issues.unlabeled", **HERE),
    step("issues/remove-all-labels", "pull_request.unlabeled"),
    step("issues/remove-all-labels", ""),
    step("issues/lock", "issues.locked", {"lock_reason": "too heated"}, **HERE),
    step("issues/lock", "", {"lock_reason": "too heated"}, **HERE),
    step("issues/lock", "pull_request.locked"),
    step("issues/unlock", "issues.unlocked", **HERE),
    step("issues/unlock", "pull_request.unlocked"),
    step("issues/unlock", ""),
    step("issues/create-label", "label.created", {"name": "Deep", "color": "00Ff00"}),
    step("issues/update-label", "label.edited", {"color": "0000FF"}, name="deep"),
    step("issues/update-label", "", {"new_name": "Deep", "color": "0000ff"}, name="deep"),
    step("issues/delete-label", "label.deleted", name="DEEP"),
    step("issues/create-milestone", "milestone.created", {"title": "v2.0"}),
    step(
        "issues/update-milestone",
        "milestone.edited milestone.closed",
        {"title": "v2.1", "state": "closed"},
        **DUE,
    ),
    step("issues/update-milestone", "milestone.opened", {"state": "open"}, **DUE),
    step("issues/update-milestone", "", {"title": "v2.1"}, **DUE),
    step("issues/delete-milestone", "milestone.deleted", **DUE),
    step("issues/add-assignees", "issues.assigned", {"assignees": ["octo"]}, **HERE),
    step("issues/add-assignees", "pull_request.assigned", {"assignees": ["octo"]}),
    step("issues/add-assignees", "", {"assignees": ["octo", "reader"]}),
    step("issues/remove-assignees", "issues.unassigned", {"assignees": ["octo"]}, **HERE),
    step("issues/remove-assignees", "pull_request.unassigned", {"assignees": ["octo"]}),
    step("issues/create-comment", "issue_comment.created", {"body": "Loud"}, **HERE),
    step("issues/update-comment", "issue_comment.edited", {"body": "Louder"}, **SAID),
    step("issues/update-comment", "", {"body": "Louder"}, **SAID),
    step("issues/delete-comment", "issue_comment.deleted", **SAID),
    step(
        "pulls/create",
        "pull_request.opened",
        {"title": "A new tone", "head": "tone", "base": "main"},
    ),
    step(
        "pulls/update",
        "pull_request.edited pull_request.closed",
        {"title": "Another tone", "state": "closed"},
    ),
    step("pulls/update", "", {"title": "Another tone"}),
    step("pulls/update", "pull_request.reopened", {"state": "open"}),
    step("repos/create-commit-status", "status", {"state": "success"}),
    # Enterprise teams
    step("enterprise-teams/create", "enterprise_team.created", {"name": "Bells"}),
    step("enterprise-teams/update", "enterprise_team.edited", {"description": "ring"}),
    step(
        "enterprise-team-organizations/bulk-remove",
        "enterprise_team.organizations_removed",
        {"organization_slugs": ["acme"]},
    ),
    step(
        "enterprise-team-organizations/bulk-add",
        "enterprise_team.organizations_added",
        {"organization_slugs": ["acme"]},
    ),
    step("enterprise-team-organizations/bulk-add", "", {"organization_slugs": ["acme"]}),
    step("enterprise-team-organizations/delete", "enterprise_team.organizations_removed"),
    step("enterprise-team-organizations/add", "enterprise_team.organizations_added"),
    step(
        "enterprise-team-memberships/bulk-remove",
        "enterprise_team.members_removed",
        {"usernames": ["reader"]},
    ),
    step(
        "enterprise-team-memberships/bulk-add",
        "enterprise_team.members_added",
        {"usernames": ["reader"]},
    ),
    step("enterprise-team-memberships/remove", "enterprise_team.members_removed"),
    step("enterprise-team-memberships/add", "enterprise_team.members_added"),
    step("enterprise-team-memberships/add", ""),
    step("enterprise-teams/delete", "enterprise_team.deleted"),
    # Commit comments
    step("repos/create-commit-comment", "commit_comment.created", {"body": "Loud"}),
    step("repos/update-commit-comment", "commit_comment_change.edited", {"body": "Louder"}),
    step("repos/delete-commit-comment", "commit_comment_change.deleted"),
    # Artifact records
    step(
        "orgs/create-artifact-deployment-record",
        "deployment_record.created",
        CLUSTER | _deployed("deployed"),
    ),
    step(
        "orgs/create-artifact-deployment-record",
        "deployment_record.updated",
        CLUSTER | _deployed("decommissioned"),
    ),
    step("orgs/create-artifact-deployment-record", "", CLUSTER | _deployed("decommissioned")),
    step(
        "orgs/set-cluster-deployment-records",
        "deployment_record.created",
        CLUSTER | {"deployments": [_deployed("deployed")]},
    ),
    step(
        "orgs/set-cluster-deployment-records",
        "deployment_record.updated",
        CLUSTER | {"deployments": [_deployed("decommissioned")]},
    ),
    step("orgs/create-artifact-storage-record", "storage_record.created", STORED),
    step(
        "orgs/create-artifact-storage-record", "storage_record.updated", STORED | {"status": "eol"}
    ),
    step("orgs/create-artifact-storage-record", "", STORED | {"status": "eol"}),
    # Assistant seats
    step(
        "assistant/cancel-assistant-seat-assignment-for-users",
        "assistant_seat.cancellation_pending",
        {"selected_usernames": ["octo"]},
    ),
    step(
        "assistant/add-assistant-seats-for-users",
        "assistant_seat.refreshed",
        {"selected_usernames": ["octo"]},
    ),
    step(
        "assistant/add-assistant-seats-for-users",
        "assistant_seat.created",
        {"selected_usernames": ["bass"]},
    ),
    step(
        "assistant/add-assistant-seats-for-teams",
        "assistant_seat.created",
        {"selected_teams": ["choir"]},
    ),
    step(
        "assistant/cancel-assistant-seat-assignment-for-teams",
        "assistant_seat.cancellation_pending",
        {"selected_teams": ["choir"]},
    ),
    step(
        "assistant/add-assistant-seats-for-teams",
        "assistant_seat.refreshed",
        {"selected_teams": ["choir"]},
    ),
    # Subscriptions to repositories
    step("activity/delete-repo-subscription", "repository_subscription.deleted"),
    step("activity/delete-repo-subscription", ""),
    step(
        "activity/set-repo-subscription",
        "watch.started repository_subscription.updated",
        {"subscribed": True},
    ),
    step("activity/set-repo-subscription", "repository_subscription.updated", {"ignored": True}),
    step("activity/set-repo-subscription", "", {"ignored": True}),
    # Interaction limits
    step("interactions/set-restrictions-for-repo", "interaction_limit.set", LIMIT),
    step("interactions/remove-restrictions-for-repo", "interaction_limit.removed"),
    step("interactions/remove-restrictions-for-repo", ""),
    step("interactions/set-restrictions-for-org", "interaction_limit.set", LIMIT),
    step("interactions/remove-restrictions-for-org", "interaction_limit.removed"),
    step("interactions/set-restrictions-for-authenticated-user", "interaction_limit.set", LIMIT),
    step("interactions/remove-restrictions-for-authenticated-user", "interaction_limit.removed"),
    step(
        "interactions/update-pull-request-creation-cap-for-org",
        "pull_request_creation_cap.changed",
        {"enabled": True},
    ),
    step(
        "interactions/update-pull-request-creation-cap-for-repo",
        "pull_request_creation_cap.changed",
        {"enabled": True},
    ),
    step(
        "interactions/set-pull-request-bypass-list-for-repo",
        "pull_request_bypass_list.added",
        {"users": ["reader"]},
    ),
    step("interactions/set-pull-request-bypass-list-for-repo", "", {"users": ["reader"]}),
    step(
        "interactions/remove-pull-request-bypass-list-for-repo",
        "pull_request_bypass_list.removed",
        {"users": ["reader"]},
    ),
    # Checks
    step("checks/create", "check_suite.requested check_run.created", RUN, by="mill"),
    step(
        "checks/update",
        "check_run.completed check_suite.completed",
        DONE,
        by="mill",
        check_run_id=_newest("check_run", "number"),
    ),
    step(
        "checks/create",
        "check_suite.requested check_run.created check_run.completed check_suite.completed",
        RUN | DONE | {"head_sha": "2" * 40},
        by="mill",
    ),
    step("checks/rerequest-run", "check_run.rerequested"),
    # Email addresses
    step("users/add-email-for-authenticated-user", "email.added", ["two@tower.example"]),
    step(
        "users/set-primary-email-visibility-for-authenticated-user",
        "email.visibility_changed",
        {"visibility": "private"},
    ),
    step(
        "users/set-primary-email-visibility-for-authenticated-user", "", {"visibility": "private"}
    ),
    step("users/delete-email-for-authenticated-user", "email.removed", ["two@tower.example"]),
    # Agent variables and devenv secrets
    step(
        "agents/create-org-variable",
        "agent_variable.created",
        {"name": "BELL", "value": "ding", "visibility": "selected", "selected_repository_ids": []},
    ),
    step("agents/update-org-variable", "agent_variable.updated", {"value": "dong"}, name="BELL"),
    step(
        "agents/set-selected-repos-for-org-variable",
        "agent_variable.updated",
        _selected,
        name="BELL",
    ),
    step("agents/remove-selected-repo-from-org-variable", "agent_variable.updated", name="BELL"),
    step("agents/add-selected-repo-to-org-variable", "agent_variable.updated", name="BELL"),
    step("agents/add-selected-repo-to-org-variable", "", name="BELL"),
    step("agents/delete-org-variable", "agent_variable.deleted", name="BELL"),
    step(
        "devenvs/create-or-update-repo-secret", "devenv_secret.created", _secret, secret_name="NEW"
    ),
    step("devenvs/create-or-update-repo-secret", "devenv_secret.updated", _secret),
    step("devenvs/delete-repo-secret", "devenv_secret.deleted"),
    # Invitations
    step("repos/add-collaborator", "repository_invitation.created", READS, username="guest"),
    step("repos/add-collaborator", "repository_invitation.edited", WRITES, username="guest"),
    step(
        "repos/accept-invitation-for-authenticated-user",
        "member.added repository_invitation.accepted",
        by="guest",
        invitation_id=_newest("repository_invitation"),
    ),
    step("repos/add-collaborator", "member.edited", READS, username="guest"),
    step("repos/add-collaborator", "", READS, username="guest"),
    step("repos/add-collaborator", "repository_invitation.created", READS, username="singer"),
    step(
        "repos/decline-invitation-for-authenticated-user",
        "repository_invitation.declined",
        by="singer",
        invitation_id=_newest("repository_invitation"),
    ),
    step("repos/update-invitation", "repository_invitation.edited", {"permissions": "write"}),
    step("repos/delete-invitation", "repository_invitation.deleted"),
    # Secret scanning
    step(
        "secret-scanning/update-org-pattern-configs",
        "secret_scanning_pattern_configuration.updated",
        {
            "provider_pattern_settings": [
                {"token_type": "NPM_ACCESS_TOKEN", "push_protection_setting": "enabled"}
            ]
        },
    ),
    # Hooks
    step(
        "repos/create-webhook",
        "ping",
        {"config": {"url": "https://two.example/"}, "events": ["push", "meta"]},
    ),
    step("repos/ping-webhook", "ping"),
    step("repos/delete-webhook", "meta.deleted", hook_id=_newest("hook")),
    # This hook has no subscription to `meta`.
    step("repos/delete-webhook", ""),
    step(
        "orgs/create-webhook",
        "ping",
        {"name": "web", "config": {"url": "https://two.example/"}, "events": ["team", "meta"]},
    ),
    step("orgs/ping-webhook", "ping"),
    step("orgs/delete-webhook", "meta.deleted", hook_id=_newest("hook")),
)

UNPUBLISHED = {
    "apps/check-token": "it changes nothing",
    "apps/create-installation-access-token": "only the client that asks for the token may know it",
    "apps/revoke-installation-access-token": "the same",
    "apps/create-from-manifest": "an app concerns nobody before it is installed",
    "apps/update-webhook-config-for-app": "only a new hook gets an event, its ping",
    "apps/redeliver-webhook-delivery": "it delivers an event once more",
    "repos/update-webhook": "the settings of a hook concern only its administrators",
    "repos/update-webhook-config-for-repo": "the same",
    "repos/rotate-webhook-signing-key": "the same",
    "repos/end-webhook-signing-key-overlap": "the same",
    "repos/test-webhook-filter": "it changes nothing",
    "repos/test-push-webhook": "it delivers the latest push once more",
    "repos/redeliver-webhook-delivery": "it delivers an event once more",
    "orgs/update-webhook": "the settings of a hook concern only its administrators",
    "orgs/update-webhook-config-for-org": "the same",
    "orgs/rotate-webhook-signing-key": "the same",
    "orgs/end-webhook-signing-key-overlap": "the same",
    "orgs/test-webhook-filter": "it changes nothing",
    "orgs/redeliver-webhook-delivery": "it delivers an event once more",
    "repos/dequeue-webhook-deliveries": "it changes only the state of deliveries",
    "repos/acknowledge-webhook-deliveries": "the same",
    "repos/reject-webhook-deliveries": "the same",
    "repos/extend-webhook-leases": "the same",
    "orgs/dequeue-webhook-deliveries": "the same",
    "orgs/acknowledge-webhook-deliveries": "the same",
    "orgs/reject-webhook-deliveries": "the same",
    "orgs/extend-webhook-leases": "the same",
    "orgs/create-cluster-deployment-records-job": "the worker runs it and publishes the events",
    "migrations/start-import": "the worker publishes an event when the import ends",
    "migrations/update-import": "the same",
    "migrations/map-commit-author": "the same",
    "migrations/set-lfs-preference": "the same",
    "migrations/cancel-import": "the same",
}
"""Operations that write but publish no event of a change, and the reason."""
