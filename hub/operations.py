"""The list of the API's operations, from one module for each group of the specification."""

from collections.abc import Mapping
from typing import Any

from hub.api.accounts import (
    applications,
    authorizations,
    emails,
    grants,
    organization_members,
    organizations,
    users,
)
from hub.api.agents import agent_variables
from hub.api.apps import accessible_repositories, app_manifests, apps, installations
from hub.api.artifacts import deployment_jobs, deployment_records, storage_records
from hub.api.assistant import assistant_billing, assistant_metrics
from hub.api.checks import check_runs, check_suites, commit_statuses
from hub.api.devenvs import devenv_machines, devenv_secrets
from hub.api.enterprises import (
    enterprise_team_memberships,
    enterprise_team_organizations,
    enterprise_teams,
    organization_teams,
    repository_teams,
)
from hub.api.hooks import (
    app_hook,
    hook_deliveries,
    hook_events_cursor,
    hook_filters,
    hooks,
    operational_events,
    organization_hooks,
    pull_hooks,
    signing_keys,
)
from hub.api.imports import source_imports
from hub.api.issues import (
    assignees,
    issue_comments,
    issue_edits,
    issue_events,
    issue_field_values,
    issue_fields,
    issue_labels,
    issue_locks,
    issues,
    labels,
    milestones,
)
from hub.api.meta import meta, rate_limit
from hub.api.pulls import pull_edits, pulls, review_comments, reviews
from hub.api.repositories import (
    branches,
    collaborators,
    commit_comments,
    commits,
    git_refs,
    interaction_limits,
    invitations,
    licenses,
    organization_rule_suites,
    pull_request_caps,
    received_invitations,
    repositories,
    rule_suites,
    stargazers,
    watching,
)
from hub.api.secret_scanning import secret_patterns
from hub.api.workflows import concurrency_groups, workflow_jobs, workflow_runs, workflows
from hub.rest.operation import Operation

MODULES = (
    meta,
    grants,
    authorizations,
    applications,
    enterprise_team_organizations,
    enterprise_teams,
    enterprise_team_memberships,
    assistant_billing,
    assistant_metrics,
    watching,
    commit_comments,
    issues,
    issue_edits,
    issue_comments,
    labels,
    issue_labels,
    issue_locks,
    milestones,
    pulls,
    pull_edits,
    reviews,
    review_comments,
    assignees,
    issue_events,
    issue_field_values,
    issue_fields,
    check_runs,
    check_suites,
    commit_statuses,
    workflow_runs,
    workflow_jobs,
    workflows,
    concurrency_groups,
    organization_rule_suites,
    rule_suites,
    emails,
    licenses,
    interaction_limits,
    pull_request_caps,
    invitations,
    received_invitations,
    hooks,
    hook_deliveries,
    hook_filters,
    pull_hooks,
    hook_events_cursor,
    organization_hooks,
    signing_keys,
    operational_events,
    agent_variables,
    devenv_machines,
    devenv_secrets,
    secret_patterns,
    deployment_records,
    deployment_jobs,
    storage_records,
    source_imports,
    rate_limit,
    users,
    organizations,
    organization_members,
    organization_teams,
    repository_teams,
    repositories,
    collaborators,
    stargazers,
    branches,
    commits,
    git_refs,
    apps,
    installations,
    accessible_repositories,
    app_hook,
    app_manifests,
)
OPERATIONS: tuple[Operation, ...] = tuple(
    one for module in MODULES for one in module.ops.operations
)
EVENTS: Mapping[str, Any] = {
    name: payload for module in MODULES for name, payload in module.ops.events.items()
}
"""The payload types of the hub's own events, which the platform does not have."""
