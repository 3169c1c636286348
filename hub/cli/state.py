"""The document that `tocsin load` takes: its shape, and how it is read."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Self

import yaml
from pydantic import Field, ValidationError, model_validator

from hub.cli import (
    load_artifacts,
    load_devenvs,
    load_issue_events,
    load_issue_fields,
    load_issues,
    load_secret_patterns,
    parts,
)
from hub.cli.load_agent_variables import AgentVariable
from hub.cli.load_checks import CheckRun
from hub.cli.load_comments import CommitComment
from hub.cli.load_devenv_secrets import DevenvSecret
from hub.cli.load_enterprises import Enterprise, EnterpriseTeam
from hub.cli.load_imports import SourceImport
from hub.cli.load_interactions import InteractionLimit, PullRequestCap
from hub.cli.load_invitations import Invitation
from hub.cli.load_rule_suites import RuleSuite
from hub.cli.load_seats import AssistantSubscription, Team
from hub.cli.load_usage import Usage
from hub.cli.load_workflow_runs import WorkflowRun
from hub.cli.part import Part
from hub.cli.strict_yaml import Strict
from store.errors import Invalid

# Bytes of a document. Reading YAML takes about a second for each of them in millions.
LARGEST = 4_000_000


class State(Part):
    """All of it. What the document does not mention stays as it is."""

    users: list[parts.User] = Field(default_factory=list)
    organizations: list[parts.Organization] = Field(default_factory=list)
    repositories: list[parts.Repository] = Field(default_factory=list)
    apps: list[parts.App] = Field(default_factory=list)
    tokens: list[parts.Token] = Field(default_factory=list)
    sources: list[parts.Source] = Field(default_factory=list)
    hooks: list[parts.Hook] = Field(default_factory=list)
    labels: list[load_issues.Label] = Field(default_factory=list)
    milestones: list[load_issues.Milestone] = Field(default_factory=list)
    issues: list[load_issues.Issue] = Field(default_factory=list)
    pull_requests: list[load_issues.PullRequest] = Field(default_factory=list)
    issue_events: list[load_issue_events.IssueEvent] = Field(default_factory=list)
    issue_comments: list[load_issue_events.IssueComment] = Field(default_factory=list)
    issue_fields: list[load_issue_fields.IssueField] = Field(default_factory=list)
    issue_field_values: list[load_issue_fields.IssueFieldValue] = Field(default_factory=list)
    commit_comments: list[CommitComment] = Field(default_factory=list)
    check_runs: list[CheckRun] = Field(default_factory=list)
    workflow_runs: list[WorkflowRun] = Field(default_factory=list)
    rule_suites: list[RuleSuite] = Field(default_factory=list)
    agent_variables: list[AgentVariable] = Field(default_factory=list)
    devenv_secrets: list[DevenvSecret] = Field(default_factory=list)
    interaction_limits: list[InteractionLimit] = Field(default_factory=list)
    pull_request_caps: list[PullRequestCap] = Field(default_factory=list)
    invitations: list[Invitation] = Field(default_factory=list)
    imports: list[SourceImport] = Field(default_factory=list)
    teams: list[Team] = Field(default_factory=list)
    assistant_subscriptions: list[AssistantSubscription] = Field(default_factory=list)
    enterprises: list[Enterprise] = Field(default_factory=list)
    enterprise_teams: list[EnterpriseTeam] = Field(default_factory=list)
    usage: list[Usage] = Field(default_factory=list)
    devenv_locations: list[load_devenvs.DevenvLocation] = Field(default_factory=list)
    devenv_machines: list[load_devenvs.DevenvMachine] = Field(default_factory=list)
    devenv_policies: list[load_devenvs.DevenvPolicy] = Field(default_factory=list)
    devenvs: list[load_devenvs.Devenv] = Field(default_factory=list)
    attestations: list[load_artifacts.Attestation] = Field(default_factory=list)
    deployment_records: list[load_artifacts.DeploymentRecord] = Field(default_factory=list)
    storage_records: list[load_artifacts.StorageRecord] = Field(default_factory=list)
    secret_patterns: list[load_secret_patterns.SecretPattern] = Field(default_factory=list)
    enterprise_secret_patterns: list[load_secret_patterns.EnterpriseSecretPattern] = Field(
        default_factory=list
    )

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        keys: dict[str, list[str]] = {}
        for name in type(self).model_fields:
            for each in getattr(self, name):
                if each.known_by is not None:
                    keys.setdefault(each.known_by[0], []).append(each.known_by[1])
        for what, names in keys.items():
            _once(what, names)
        return self


def _once(what: str, names: Iterable[str]) -> None:
    for name, times in Counter(names).items():
        if times > 1:
            raise ValueError(f"the {what} {name!r} is there {times} times")


def read(text: str) -> State:
    """The document in `text`, JSON or YAML. Invalid names each place that is wrong."""
    if len(text) > LARGEST:
        raise Invalid(f"the document is larger than {LARGEST:,} characters")
    try:
        data = _json(text) if text.lstrip().startswith("{") else Strict(text).get_single_data()
    except (ValueError, yaml.YAMLError) as error:
        raise Invalid(f"the document cannot be read: {error}") from None
    except RecursionError:
        raise Invalid("the document is nested too deeply") from None
    try:
        return State.model_validate({} if data is None else data)
    except ValidationError as error:
        raise Invalid("\n".join(_explained(error))) from None


def _explained(error: ValidationError) -> Iterator[str]:
    for problem in error.errors(include_input=False):
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}"
                        for part in problem["loc"]).removeprefix(".")  # fmt: skip
        message = problem["msg"].removeprefix("Value error, ")
        if problem["type"] == "extra_forbidden":
            message = "there is no such key"
        yield f"{place or 'document'}: {message}"


def _json(text: str) -> Any:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        _once("key", [key for key, _ in pairs])
        return dict(pairs)

    return json.loads(text, object_pairs_hook=once)
