"""The permissions that let an app get events: at least to read what an event is about."""

from collections.abc import Collection, Mapping

from store.hooks.event_names import FITTING, UNASKED_EVENTS, WILDCARD

_ABOUT = {
    "actions": "workflow_job workflow_run",
    "administration": "branch_protection_configuration branch_protection_rule repository_ruleset"
    " security_and_analysis exemption_request_push_ruleset",
    "checks": "check_run check_suite",
    "contents": "commit_comment create delete fork gollum push release repository_dispatch"
    " workflow_dispatch",
    "deployments": "deploy_key deployment deployment_protection_rule deployment_review"
    " deployment_status",
    "discussions": "discussion discussion_comment",
    "issues": "issue_comment issue_dependencies issues milestone sub_issues",
    "members": "membership organization team",
    "merge_queues": "merge_group",
    "metadata": "custom_property_values installation_target label member meta ping public"
    " repository security_advisory star team_add watch",
    "organization_custom_properties": "custom_property organization_custom_property_values",
    "organization_personal_access_token_requests": "personal_access_token_request",
    "organization_user_blocking": "org_block",
    "packages": "registry_package",
    "pages": "page_build",
    "pull_requests": "issue_comment milestone pull_request pull_request_review"
    " pull_request_review_comment pull_request_review_thread",
    "repository_advisories": "repository_advisory",
    "repository_projects": "project project_card project_column",
    "secret_scanning_alerts": "bypass_request_secret_scanning dismissal_request_secret_scanning"
    " secret_scanning_alert secret_scanning_alert_location secret_scanning_scan",
    "security_events": "code_scanning_alert dismissal_request_code_scanning",
    "statuses": "status",
    "vulnerability_alerts": "dependabot_alert dismissal_request_dependabot",
}
PERMISSIONS: dict[str, frozenset[str]] = {
    event: frozenset(name for name, events in _ABOUT.items() if event in events.split())
    for event in FITTING["app"] - UNASKED_EVENTS
}
"""By event: the permissions any of which lets an app get it."""


def allowed(
    asked: Collection[str], accepted: Collection[str], permissions: Mapping[str, str]
) -> list[str]:
    """Return the events that an installation gets.

    The app asks for them, the account has accepted them, and one of the permissions that both
    agree on covers what they are about.
    """
    return [
        event
        for event, wanted in sorted(PERMISSIONS.items())
        if _names(asked, event) and _names(accepted, event) and wanted & permissions.keys()
    ]


def _names(events: Collection[str], event: str) -> bool:
    return event in events or WILDCARD in events
