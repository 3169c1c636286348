"""The model of the document that `tocsin load` reads, and its parser."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Self

import yaml
from pydantic import Field, ValidationError, model_validator

from hub.cli.state.base import SectionEntry, StateEntry
from hub.cli.state.changes import StateChange, described_place
from hub.cli.state.places import meant
from hub.cli.state.sections.accounts import OrganizationEntry, UserEntry
from hub.cli.state.sections.agent_variables import AgentVariableEntry
from hub.cli.state.sections.apps import AppEntry, InstallationEntry
from hub.cli.state.sections.artifacts import (
    AttestationEntry,
    DeploymentRecordEntry,
    StorageRecordEntry,
    name_alike,
)
from hub.cli.state.sections.checks import CheckRunEntry
from hub.cli.state.sections.comments import CommitCommentEntry, IssueCommentEntry
from hub.cli.state.sections.commit_statuses import CommitStatusEntry
from hub.cli.state.sections.devenvs import (
    DevenvEntry,
    DevenvLocationEntry,
    DevenvMachineEntry,
    DevenvPolicyEntry,
    DevenvSecretEntry,
)
from hub.cli.state.sections.enterprises import EnterpriseEntry, EnterpriseTeamEntry
from hub.cli.state.sections.hooks import HookEntry, SourceEntry
from hub.cli.state.sections.imports import ImportEntry
from hub.cli.state.sections.interactions import InteractionLimitEntry, PullRequestCapEntry
from hub.cli.state.sections.invitations import InvitationEntry
from hub.cli.state.sections.issue_events import IssueEventEntry
from hub.cli.state.sections.issue_fields import IssueFieldEntry, IssueFieldValueEntry
from hub.cli.state.sections.issues import (
    IssueEntry,
    LabelEntry,
    MilestoneEntry,
    PullRequestEntry,
    recount,
)
from hub.cli.state.sections.repositories import RepositoryEntry
from hub.cli.state.sections.rule_suites import RuleSuiteEntry
from hub.cli.state.sections.seats import AssistantSubscriptionEntry, TeamEntry
from hub.cli.state.sections.secret_patterns import EnterpriseSecretPatternEntry, SecretPatternEntry
from hub.cli.state.sections.tokens import TokenEntry
from hub.cli.state.sections.usage import UsageEntry
from hub.cli.state.sections.workflow_runs import WorkflowRunEntry
from hub.cli.state.strict_yaml import Strict
from store import Connection
from store.errors import Invalid

# The maximum of characters in a document. Reading a million characters of YAML takes about a
# second.
LARGEST = 4_000_000
# JSON and YAML can escape these, and not every database can store them.
UNSTORABLE = re.compile("[\0\ud800-\udfff]")


class StateDocument(StateEntry):
    """A whole document: its sections, in the order in which they are applied.

    Things that the document does not mention stay as they are.
    """

    users: list[UserEntry] = Field(default_factory=list)
    organizations: list[OrganizationEntry] = Field(default_factory=list)
    repositories: list[RepositoryEntry] = Field(default_factory=list)
    apps: list[AppEntry] = Field(default_factory=list)
    installations: list[InstallationEntry] = Field(default_factory=list)
    tokens: list[TokenEntry] = Field(default_factory=list)
    sources: list[SourceEntry] = Field(default_factory=list)
    hooks: list[HookEntry] = Field(default_factory=list)
    labels: list[LabelEntry] = Field(default_factory=list)
    milestones: list[MilestoneEntry] = Field(default_factory=list)
    issues: list[IssueEntry] = Field(default_factory=list)
    pull_requests: list[PullRequestEntry] = Field(default_factory=list)
    issue_events: list[IssueEventEntry] = Field(default_factory=list)
    issue_comments: list[IssueCommentEntry] = Field(default_factory=list)
    issue_fields: list[IssueFieldEntry] = Field(default_factory=list)
    issue_field_values: list[IssueFieldValueEntry] = Field(default_factory=list)
    commit_comments: list[CommitCommentEntry] = Field(default_factory=list)
    commit_statuses: list[CommitStatusEntry] = Field(default_factory=list)
    check_runs: list[CheckRunEntry] = Field(default_factory=list)
    workflow_runs: list[WorkflowRunEntry] = Field(default_factory=list)
    rule_suites: list[RuleSuiteEntry] = Field(default_factory=list)
    agent_variables: list[AgentVariableEntry] = Field(default_factory=list)
    devenv_secrets: list[DevenvSecretEntry] = Field(default_factory=list)
    devenv_locations: list[DevenvLocationEntry] = Field(default_factory=list)
    devenv_machines: list[DevenvMachineEntry] = Field(default_factory=list)
    devenv_policies: list[DevenvPolicyEntry] = Field(default_factory=list)
    devenvs: list[DevenvEntry] = Field(default_factory=list)
    interaction_limits: list[InteractionLimitEntry] = Field(default_factory=list)
    pull_request_caps: list[PullRequestCapEntry] = Field(default_factory=list)
    invitations: list[InvitationEntry] = Field(default_factory=list)
    imports: list[ImportEntry] = Field(default_factory=list)
    teams: list[TeamEntry] = Field(default_factory=list)
    assistant_subscriptions: list[AssistantSubscriptionEntry] = Field(default_factory=list)
    enterprises: list[EnterpriseEntry] = Field(default_factory=list)
    enterprise_teams: list[EnterpriseTeamEntry] = Field(default_factory=list)
    usage: list[UsageEntry] = Field(default_factory=list)
    attestations: list[AttestationEntry] = Field(default_factory=list)
    deployment_records: list[DeploymentRecordEntry] = Field(default_factory=list)
    storage_records: list[StorageRecordEntry] = Field(default_factory=list)
    secret_patterns: list[SecretPatternEntry] = Field(default_factory=list)
    enterprise_secret_patterns: list[EnterpriseSecretPatternEntry] = Field(default_factory=list)

    def entries(self) -> Iterator[tuple[str, SectionEntry]]:
        """Yield the place of each entry, such as `hooks[0]`, and the entry."""
        for section in type(self).model_fields:
            for number, entry in enumerate(getattr(self, section)):
                yield f"{section}[{number}]", entry

    def apply(self, db: Connection) -> list[StateChange]:
        """Apply the document in the current transaction. Return the change of each entry.

        Applying it again changes nothing. Raises Invalid, which names the place in the document, if
        an entry cannot be applied.
        """
        changes = []
        name_alike([*self.deployment_records, *self.storage_records])
        # The last administrator of the site may only stop being one when there is another.
        for place, entry in sorted(self.entries(), key=_is_no_administrator):
            with described_place(place):
                changes.append(entry.apply(db))
        recount(db, [*self.issues, *self.pull_requests])
        return changes

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        keys: dict[str, list[str]] = {}
        for _, entry in self.entries():
            if entry.known_by is not None:
                kind, name = entry.known_by
                keys.setdefault(kind, []).append(name)
        for what, names in keys.items():
            _once(what, names)
        return self


def _is_no_administrator(placed: tuple[str, SectionEntry]) -> bool:
    return not getattr(placed[1], "site_admin", False)


def _once(what: str, names: Iterable[str]) -> None:
    for name, times in Counter(names).items():
        if times > 1:
            raise ValueError(f"the {what} {name!r} occurs {times} times")


def read(text: str) -> StateDocument:
    """Parse a document, JSON or YAML. Raises Invalid, whose message names each wrong place."""
    if len(text) > LARGEST:
        raise Invalid(f"the document is larger than {LARGEST:,} characters")
    try:
        data = _json(text) if text.lstrip().startswith("{") else Strict(text).get_single_data()
        document = StateDocument.model_validate({} if data is None else data)
        _check_texts(data)
    except ValidationError as error:
        raise Invalid("\n".join(_explained(error))) from None
    except yaml.MarkedYAMLError as error:
        line = "" if error.problem_mark is None else f"line {error.problem_mark.line + 1}: "
        raise Invalid(f"{line}the document cannot be read: {error.problem}") from None
    except (ValueError, yaml.YAMLError) as error:
        raise Invalid(f"the document cannot be read: {error}") from None
    except RecursionError:
        raise Invalid("the document is nested too deeply") from None
    return document


def _check_texts(value: Any, place: str = "") -> None:
    """Raise Invalid, which names the place, if a text cannot be stored."""
    if isinstance(value, str) and UNSTORABLE.search(value):
        raise Invalid(f"{place or 'document'}: a text must not hold a NUL or half a character")
    if isinstance(value, dict):
        for key, inner in value.items():
            _check_texts(key, place)
            _check_texts(inner, f"{place}.{key}".removeprefix("."))
    if isinstance(value, list):
        for number, inner in enumerate(value):
            _check_texts(inner, f"{place}[{number}]")


def _explained(error: ValidationError) -> Iterator[str]:
    for problem in error.errors(include_input=False):
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}"
                        for part in problem["loc"]).removeprefix(".")  # fmt: skip
        message = problem["msg"].removeprefix("Value error, ")
        if problem["type"] == "extra_forbidden":
            message = f"there is no such key{meant(StateDocument, problem['loc'])}"
        elif problem["type"] in ("model_type", "dict_type"):
            message = "it must be an object, with keys and values"
        elif problem["type"] == "missing":
            message = "it is missing"
        yield f"{place or 'document'}: {message}"


def _json(text: str) -> Any:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        _once("key", [key for key, _ in pairs])
        return dict(pairs)

    return json.loads(text, object_pairs_hook=once)
