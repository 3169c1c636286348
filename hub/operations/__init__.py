"""The API's operations: one module a group of the specification."""

from collections.abc import Mapping
from typing import Any

from hub.operation import Operation
from hub.operations import (
    agent_variables,
    applications,
    assistant_billing,
    assistant_metrics,
    authorizations,
    check_runs,
    commit_comments,
    concurrency_groups,
    deployment_jobs,
    deployment_records,
    devenv_machines,
    devenv_secrets,
    emails,
    enterprise_team_memberships,
    enterprise_team_organizations,
    enterprise_teams,
    grants,
    hook_deliveries,
    hooks,
    interaction_caps,
    interactions,
    invitations,
    issue_events,
    issue_field_values,
    issue_fields,
    licenses,
    meta,
    organization_rule_suites,
    rate_limit,
    received_invitations,
    rule_suites,
    secret_patterns,
    source_imports,
    storage_records,
    watching,
)

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
    issue_events,
    issue_field_values,
    issue_fields,
    check_runs,
    concurrency_groups,
    organization_rule_suites,
    rule_suites,
    emails,
    licenses,
    interactions,
    interaction_caps,
    invitations,
    received_invitations,
    hooks,
    hook_deliveries,
    agent_variables,
    devenv_machines,
    devenv_secrets,
    secret_patterns,
    deployment_records,
    deployment_jobs,
    storage_records,
    source_imports,
    rate_limit,
)
OPERATIONS: tuple[Operation, ...] = tuple(
    one for module in MODULES for one in module.ops.operations
)
EVENTS: Mapping[str, Any] = {
    name: payload for module in MODULES for name, payload in module.ops.events.items()
}
"""The hub's own events, which the platform has no name for: the types of their payloads."""
