"""The names of events: the platform's, and the hub's own for changes without a platform name.

An event name is the last part of a topic.
"""

from dataclasses import dataclass
from typing import Any

from store.database.patterns import containing, containing_plain
from store.hooks.platform_events import MEANINGS

PLATFORM_EVENTS = frozenset(MEANINGS)
OPERATIONAL_EVENTS = frozenset(["backlog", "certificate", "delivery", "hook", "ordering"])
"""Events about hooks and the queue. Only hooks of the whole installation get them."""
_OF_PEOPLE = frozenset(["application_grant", "authorization", "email", "enterprise_team"])
"""Events about users and enterprises. Only hooks of the whole installation get them, too."""
_OF_REPOSITORIES = frozenset(
    [
        "commit_comment_change",
        "deployment_record",
        "devenv_secret",
        "interaction_limit",
        "pull_request_bypass_list",
        "pull_request_creation_cap",
        "repository_invitation",
        "repository_subscription",
        "storage_record",
    ]
)
_OF_ORGANIZATIONS = _OF_REPOSITORIES | frozenset(
    ["agent_variable", "assistant_seat", "issue_field", "secret_scanning_pattern_configuration"]
)
HUB_EVENTS = OPERATIONAL_EVENTS | _OF_PEOPLE | _OF_ORGANIZATIONS
"""Events that only the hub writes. `*` does not include them."""
ORGANIZATION_EVENTS = frozenset(
    [
        "custom_property",
        "membership",
        "org_block",
        "organization",
        "organization_custom_property_values",
        "personal_access_token_request",
        "projects_v2",
        "projects_v2_item",
        "projects_v2_status_update",
        "team",
    ]
)
"""Platform events that no repository has, but an organization."""
APP_EVENTS = frozenset(
    [
        "deployment_protection_rule",
        "deployment_review",
        "github_app_authorization",
        "installation",
        "installation_repositories",
        "installation_target",
        "merge_group",
        "repository_dispatch",
        "security_advisory",
        "workflow_dispatch",
    ]
)
"""Platform events that only apps get."""
OTHER_EVENTS = frozenset(["marketplace_purchase", "organization_custom_property", "sponsorship"])
"""Platform events of neither a repository, an organization, nor an app."""
UNASKED_EVENTS = frozenset(
    ["github_app_authorization", "installation", "installation_repositories"]
)
"""Platform events that the hook of an app gets because they are about the app."""
EVENTS_IN_REPOSITORIES = (
    PLATFORM_EVENTS
    - ORGANIZATION_EVENTS
    - OTHER_EVENTS
    - UNASKED_EVENTS
    - {"installation_target", "security_advisory"}
)
"""Platform events of what is in a repository."""
OF_ADMINISTRATORS = frozenset(
    [
        "branch_protection_configuration",
        "branch_protection_rule",
        "custom_property_values",
        "deploy_key",
        "member",
        "meta",
        "public",
        "repository",
        "repository_advisory",
        "repository_import",
        "repository_ruleset",
        "security_and_analysis",
        "team_add",
    ]
)
"""Platform events of a repository's existence, access or settings, which administrators change."""
FITTING = {
    "repository": PLATFORM_EVENTS - ORGANIZATION_EVENTS - APP_EVENTS - OTHER_EVENTS,
    "organization": PLATFORM_EVENTS - APP_EVENTS - OTHER_EVENTS,
    "app": PLATFORM_EVENTS
    - OTHER_EVENTS
    - {
        "package",
        "projects_v2",
        "projects_v2_item",
        "projects_v2_status_update",
        "repository_import",
        "repository_vulnerability_alert",
    },
    "system": PLATFORM_EVENTS,
}
"""By kind of hook: the platform events to which such a hook can subscribe. `*` stands for them."""
OWN = {
    "repository": _OF_REPOSITORIES,
    "organization": _OF_ORGANIZATIONS,
    "app": frozenset[str](),
    "system": HUB_EVENTS,
}
"""By kind of hook: the hub's events to which such a hook can subscribe."""
WILDCARD = "*"


@dataclass(frozen=True, slots=True)
class EventPattern:
    """A part of `name.action`, or of the name of an event without an action."""

    part: str

    def matches(self, name: str, action: str | None) -> bool:
        return self.part.lower() in (f"{name}.{action}" if action else name).lower()

    def condition(self, alias: str) -> tuple[str, dict[str, Any]]:
        """Return `matches` as an SQL condition on the table `event`, and its parameters."""
        named = f"lower({alias}.name || COALESCE('.' || {alias}.action, ''))"
        condition = f"({named} LIKE :named ESCAPE '!' OR {named} LIKE :plain ESCAPE '!')"
        return condition, {"named": containing(self.part), "plain": containing_plain(self.part)}


def parse_pattern(text: str) -> tuple[str | None, EventPattern | None]:
    """Return the event name that a text is, or the pattern that it is; None for an empty text."""
    if not text:
        return None, None
    return (text, None) if text in PLATFORM_EVENTS else (None, EventPattern(text.rstrip("*")))
