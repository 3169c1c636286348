"""The application of a state document to the store. Applying it again changes nothing.

Nothing is removed: things that the document does not mention stay.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TypeVar

from hub.cli.state import apply_apps, apply_hooks, apply_people, apply_repositories, models
from hub.cli.state.base import StateEntry
from hub.cli.state.changes import StateChange, described_place, secret
from hub.cli.state.sections import (
    agent_variables,
    artifacts,
    checks,
    comments,
    devenv_secrets,
    devenvs,
    enterprises,
    imports,
    interactions,
    invitations,
    issue_events,
    issue_fields,
    issues,
    rule_suites,
    seats,
    secret_patterns,
    usage,
    workflow_runs,
)
from store import Connection, Store
from store.accounts import accounts

T = TypeVar("T", bound=StateEntry)


def hashed(store: Store, wanted: models.StateDocument) -> dict[str, str]:
    """Return the hashes of the document's new passwords by login.

    Passwords that do not change are left out. The hashes are made before the transaction, because
    hashing is slow and other writers would wait for it.
    """
    given = {user.login: secret(user.password) for user in wanted.users}

    def stored(db: Connection) -> dict[str, str | None]:
        rows = {login: accounts.by_login(db, login) for login in given}
        return {
            login: None if row is None else accounts.stored_password(db, row["id"])
            for login, row in rows.items()
        }

    before = store.look(stored)
    return {
        login: accounts.hash_password(password)
        for login, password in given.items()
        if password is not None
        and (before[login] is None or not accounts.password_matches(password, before[login]))
    }


def apply(
    db: Connection,
    wanted: models.StateDocument,
    hashes: Mapping[str, str],
    hooks_per_event: int = 0,
) -> list[StateChange]:
    """Apply a document in the current transaction. Return the change of each entry.

    `hashes` are the results of `hashed`. `hooks_per_event` limits the hooks of a repository for the
    same event; 0 is no limit. A StoreError names the place in the document.
    """
    changes = [
        *_each(db, "users", wanted.users, partial(apply_people.user, hashes)),
        *_each(db, "organizations", wanted.organizations, apply_people.organization),
        *_each(db, "repositories", wanted.repositories, apply_repositories.repository),
        *_each(db, "apps", wanted.apps, apply_apps.app),
        *_each(db, "tokens", wanted.tokens, apply_apps.token),
        *_each(db, "sources", wanted.sources, apply_hooks.source),
        *_each(db, "hooks", wanted.hooks, partial(apply_hooks.hook, hooks_per_event)),
        *_each(db, "labels", wanted.labels, issues.label),
        *_each(db, "milestones", wanted.milestones, issues.milestone),
        *_each(db, "issues", wanted.issues, issues.issue),
        *_each(db, "pull_requests", wanted.pull_requests, issues.pull_request),
        *_each(db, "issue_events", wanted.issue_events, issue_events.issue_event),
        *_each(db, "issue_comments", wanted.issue_comments, issue_events.issue_comment),
        *_each(db, "issue_fields", wanted.issue_fields, issue_fields.issue_field),
        *_each(db, "issue_field_values", wanted.issue_field_values, issue_fields.issue_field_value),
        *_each(db, "commit_comments", wanted.commit_comments, comments.commit_comment),
        *_each(db, "check_runs", wanted.check_runs, checks.check_run),
        *_each(db, "workflow_runs", wanted.workflow_runs, workflow_runs.workflow_run),
        *_each(db, "rule_suites", wanted.rule_suites, rule_suites.rule_suite),
        *_each(db, "agent_variables", wanted.agent_variables, agent_variables.agent_variable),
        *_each(db, "devenv_secrets", wanted.devenv_secrets, devenv_secrets.devenv_secret),
        *_each(db, "devenv_locations", wanted.devenv_locations, devenvs.devenv_location),
        *_each(db, "devenv_machines", wanted.devenv_machines, devenvs.devenv_machine),
        *_each(db, "devenv_policies", wanted.devenv_policies, devenvs.devenv_policy),
        *_each(db, "devenvs", wanted.devenvs, devenvs.devenv),
        *_each(db, "interaction_limits", wanted.interaction_limits, interactions.interaction_limit),
        *_each(db, "pull_request_caps", wanted.pull_request_caps, interactions.pull_request_cap),
        *_each(db, "invitations", wanted.invitations, invitations.invitation),
        *_each(db, "imports", wanted.imports, imports.source_import),
        *_each(db, "teams", wanted.teams, seats.team),
        *_each(
            db,
            "assistant_subscriptions",
            wanted.assistant_subscriptions,
            seats.subscription,
        ),
        *_each(db, "enterprises", wanted.enterprises, enterprises.enterprise),
        *_each(db, "enterprise_teams", wanted.enterprise_teams, enterprises.team),
        *_each(db, "usage", wanted.usage, usage.put),
        *_each(db, "attestations", wanted.attestations, artifacts.attestation),
        *_each(db, "deployment_records", wanted.deployment_records, artifacts.deployment_record),
        *_each(db, "storage_records", wanted.storage_records, artifacts.storage_record),
        *_each(db, "secret_patterns", wanted.secret_patterns, secret_patterns.secret_pattern),
        *_each(
            db,
            "enterprise_secret_patterns",
            wanted.enterprise_secret_patterns,
            secret_patterns.enterprise_secret_pattern,
        ),
    ]
    issues.recount(db, [*wanted.issues, *wanted.pull_requests])
    return changes


def _each(
    db: Connection, key: str, parts: list[T], one: Callable[[Connection, T], StateChange]
) -> Iterator[StateChange]:
    for number, part in enumerate(parts):
        with described_place(f"{key}[{number}]"):
            yield one(db, part)
