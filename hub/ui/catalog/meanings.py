"""The meaning of each event in one sentence."""

import functools
import inspect

from hub.operations import EVENTS

PLATFORM = {
    "branch_protection_configuration": "Branch protection was switched on or off.",
    "branch_protection_rule": "A rule that protects branches changed.",
    "bypass_request_secret_scanning": "Somebody asked to push a detected secret.",
    "check_run": "A check of a commit was created, asked for again, or completed.",
    "check_suite": "The checks of a commit were requested or completed.",
    "code_scanning_alert": "An alert of code scanning changed.",
    "commit_comment": "A commit got a comment.",
    "create": "A branch or a tag was created.",
    "custom_property": "The definition of a custom property changed.",
    "custom_property_values": "A repository's custom properties changed.",
    "delete": "A branch or a tag was deleted.",
    "dependabot_alert": "An alert about a vulnerable dependency changed.",
    "deploy_key": "A deploy key was added or removed.",
    "deployment": "A deployment was created.",
    "deployment_protection_rule": "A deployment waits for a protection rule.",
    "deployment_review": "A deployment waits for a review, or got one.",
    "deployment_status": "The status of a deployment changed.",
    "discussion": "A discussion changed.",
    "discussion_comment": "A comment in a discussion changed.",
    "dismissal_request_code_scanning": "Somebody asked to dismiss an alert of code scanning.",
    "dismissal_request_dependabot": "Somebody asked to dismiss an alert about a dependency.",
    "dismissal_request_secret_scanning": "Somebody asked to dismiss an alert about a secret.",
    "exemption_request_push_ruleset": "Somebody asked to be exempt from a rule for pushes.",
    "fork": "The repository was forked.",
    "github_app_authorization": "A user revoked the authorization of an app.",
    "gollum": "A page of the wiki changed.",
    "installation": "An app was installed, suspended or removed.",
    "installation_repositories": "The repositories of an installed app changed.",
    "installation_target": "The account of an installed app was renamed.",
    "issue_comment": "A comment on an issue or a pull request changed.",
    "issue_dependencies": "The issues that block an issue changed.",
    "issues": "An issue changed.",
    "label": "A label changed.",
    "marketplace_purchase": "Somebody bought, changed or ended a plan.",
    "member": "A collaborator was added, changed or removed.",
    "membership": "A member was added to a team or removed from it.",
    "merge_group": "A group of the merge queue was created or ended.",
    "meta": "This hook was deleted.",
    "milestone": "A milestone changed.",
    "org_block": "An organization blocked or unblocked a user.",
    "organization": "An organization or its members changed.",
    "organization_custom_property": "A custom property of an organization was defined.",
    "organization_custom_property_values": "An organization's custom properties changed.",
    "package": "A package was published or updated.",
    "page_build": "The repository's site was built.",
    "personal_access_token_request": "Somebody asked for access with a token.",
    "ping": "A hook was created, or somebody pinged it.",
    "project": "A classic project changed.",
    "project_card": "A card of a classic project changed.",
    "project_column": "A column of a classic project changed.",
    "projects_v2": "A project changed.",
    "projects_v2_item": "An item of a project changed.",
    "projects_v2_status_update": "The status of a project changed.",
    "public": "The repository became public.",
    "pull_request": "A pull request changed.",
    "pull_request_review": "A review was submitted, edited or dismissed.",
    "pull_request_review_comment": "A comment on changed lines changed.",
    "pull_request_review_thread": "A thread of a review was resolved or reopened.",
    "push": "Commits or tags were pushed.",
    "registry_package": "A package was published in the registry.",
    "release": "A release changed.",
    "repository": "The repository was created, renamed, archived or deleted.",
    "repository_advisory": "A security advisory of the repository changed.",
    "repository_dispatch": "A program triggered an event of its own.",
    "repository_import": "An import ended.",
    "repository_ruleset": "A set of rules changed.",
    "repository_vulnerability_alert": "An alert about a vulnerability changed.",
    "secret_scanning_alert": "An alert about a secret changed.",
    "secret_scanning_alert_location": "A detected secret was found in another place.",
    "secret_scanning_scan": "A scan for secrets ended.",
    "security_advisory": "A global security advisory changed.",
    "security_and_analysis": "Security features were switched on or off.",
    "sponsorship": "A sponsorship changed.",
    "star": "The repository got a star or lost one.",
    "status": "The status of a commit changed.",
    "sub_issues": "A sub-issue was added or removed.",
    "team": "A team changed.",
    "team_add": "A repository was added to a team.",
    "watch": "Somebody starred the repository.",
    "workflow_dispatch": "Somebody started a workflow by hand.",
    "workflow_job": "A job of a workflow changed.",
    "workflow_run": "A run of a workflow was requested or completed.",
}
# The hub's own events whose payload has no description.
OWN = {
    "agent_variable": "A variable of agents changed.",
    "assistant_seat": "A seat of the assistant was given or taken back.",
    "commit_comment_change": "A comment on a commit was edited or deleted.",
    "deployment_record": "The record of a deployment changed.",
    "devenv_secret": "A secret of a development environment changed.",
    "enterprise_team": "A team of an enterprise changed.",
    "issue_field": "A field of issues changed.",
    "secret_scanning_pattern_configuration": "The patterns of secret scanning changed.",
    "storage_record": "The record of stored artifacts changed.",
}


@functools.cache
def meaning(name: str) -> str:
    """Return the meaning of an event, or an empty text for an unknown one."""
    payload = EVENTS.get(name)
    own = None if payload is None else vars(payload).get("__doc__") and inspect.getdoc(payload)
    if own and name not in PLATFORM:
        return f"{own.partition(chr(10))[0].removesuffix('.')}."
    return PLATFORM.get(name) or OWN.get(name, "")
