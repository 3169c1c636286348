"""Bringing the store to a state document, so that doing it again changes nothing.

Nothing is taken away: who is not mentioned keeps what they have.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TypeVar

from hub.cli import (
    apply_apps,
    apply_hooks,
    apply_people,
    apply_repositories,
    load_agent_variables,
    load_artifacts,
    load_checks,
    load_comments,
    load_devenv_secrets,
    load_devenvs,
    load_enterprises,
    load_imports,
    load_interactions,
    load_invitations,
    load_issue_events,
    load_issue_fields,
    load_issues,
    load_rule_suites,
    load_seats,
    load_secret_patterns,
    load_usage,
    load_workflow_runs,
    state,
)
from hub.cli.changes import Change, placed, secret
from hub.cli.part import Part
from store import (
    Connection,
    Store,
    accounts,
)

T = TypeVar("T", bound=Part)


def hashed(store: Store, wanted: state.State) -> dict[str, str]:
    """Login to the new password's hash, where there is one: made before the transaction, which
    others would wait for.
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


def apply(db: Connection, wanted: state.State, hashes: Mapping[str, str]) -> list[Change]:
    """Make it so, in this one transaction. A StoreError names the place in the document.

    `hashes` are those of the users' new passwords.
    """
    changes = [
        *_each(db, "users", wanted.users, partial(apply_people.user, hashes)),
        *_each(db, "organizations", wanted.organizations, apply_people.organization),
        *_each(db, "repositories", wanted.repositories, apply_repositories.repository),
        *_each(db, "apps", wanted.apps, apply_apps.app),
        *_each(db, "tokens", wanted.tokens, apply_apps.token),
        *_each(db, "sources", wanted.sources, apply_hooks.source),
        *_each(db, "hooks", wanted.hooks, apply_hooks.hook),
        *_each(db, "labels", wanted.labels, load_issues.label),
        *_each(db, "milestones", wanted.milestones, load_issues.milestone),
        *_each(db, "issues", wanted.issues, load_issues.issue),
        *_each(db, "pull_requests", wanted.pull_requests, load_issues.pull_request),
        *_each(db, "issue_events", wanted.issue_events, load_issue_events.issue_event),
        *_each(db, "issue_comments", wanted.issue_comments, load_issue_events.issue_comment),
        *_each(db, "issue_fields", wanted.issue_fields, load_issue_fields.issue_field),
        *_each(
            db, "issue_field_values", wanted.issue_field_values, load_issue_fields.issue_field_value
        ),
        *_each(db, "commit_comments", wanted.commit_comments, load_comments.commit_comment),
        *_each(db, "check_runs", wanted.check_runs, load_checks.check_run),
        *_each(db, "workflow_runs", wanted.workflow_runs, load_workflow_runs.workflow_run),
        *_each(db, "rule_suites", wanted.rule_suites, load_rule_suites.rule_suite),
        *_each(db, "agent_variables", wanted.agent_variables, load_agent_variables.agent_variable),
        *_each(db, "devenv_secrets", wanted.devenv_secrets, load_devenv_secrets.devenv_secret),
        *_each(db, "devenv_locations", wanted.devenv_locations, load_devenvs.devenv_location),
        *_each(db, "devenv_machines", wanted.devenv_machines, load_devenvs.devenv_machine),
        *_each(db, "devenv_policies", wanted.devenv_policies, load_devenvs.devenv_policy),
        *_each(db, "devenvs", wanted.devenvs, load_devenvs.devenv),
        *_each(
            db, "interaction_limits", wanted.interaction_limits, load_interactions.interaction_limit
        ),
        *_each(
            db, "pull_request_caps", wanted.pull_request_caps, load_interactions.pull_request_cap
        ),
        *_each(db, "invitations", wanted.invitations, load_invitations.invitation),
        *_each(db, "imports", wanted.imports, load_imports.source_import),
        *_each(db, "teams", wanted.teams, load_seats.team),
        *_each(
            db,
            "assistant_subscriptions",
            wanted.assistant_subscriptions,
            load_seats.subscription,
        ),
        *_each(db, "enterprises", wanted.enterprises, load_enterprises.enterprise),
        *_each(db, "enterprise_teams", wanted.enterprise_teams, load_enterprises.team),
        *_each(db, "usage", wanted.usage, load_usage.put),
        *_each(db, "attestations", wanted.attestations, load_artifacts.attestation),
        *_each(
            db, "deployment_records", wanted.deployment_records, load_artifacts.deployment_record
        ),
        *_each(db, "storage_records", wanted.storage_records, load_artifacts.storage_record),
        *_each(db, "secret_patterns", wanted.secret_patterns, load_secret_patterns.secret_pattern),
        *_each(
            db,
            "enterprise_secret_patterns",
            wanted.enterprise_secret_patterns,
            load_secret_patterns.enterprise_secret_pattern,
        ),
    ]
    load_issues.recount(db, [*wanted.issues, *wanted.pull_requests])
    return changes


def _each(
    db: Connection, key: str, parts: list[T], one: Callable[[Connection, T], Change]
) -> Iterator[Change]:
    for number, part in enumerate(parts):
        with placed(f"{key}[{number}]"):
            yield one(db, part)
