"""The table of all sources of snapshots."""

from typing import Any

from store.artifacts import deployment_records, storage_records
from store.checks import check_runs, check_suites, commit_statuses
from store.database.connection import prefixed
from store.devenvs import devenv_secrets
from store.hooks import hooks
from store.imports import imports
from store.issues import commit_comments, issue_comments, issues, labels, milestones
from store.registry.snapshot_source import LOWEST_TEXT, SnapshotSource
from store.repositories import interaction_limits, invitations, refs, repositories, watching


def _table(
    name: str, event: str, table: str, columns: str, key: str, **more: Any
) -> SnapshotSource:
    """Return a source for a table with a `repo_id`."""
    given = {"repo": "x.repo_id", "changed": "x.updated_at", **more}
    return SnapshotSource(
        name, event, prefixed("x", columns), f"{table} x", key=f"x.{key}", **given
    )


def _comment_source(kind: str, name: str, event: str) -> SnapshotSource:
    return _table(
        name,
        event,
        "issue_comment",
        issue_comments.COLUMNS,
        "number",
        where=f"x.kind = '{kind}' AND EXISTS (SELECT 1 FROM issue i WHERE i.id = x.issue_id"
        " AND i.deleted_at IS NULL AND i.moved_to IS NULL)",
        opened=issue_comments.decode_row,
    )


def _issue(name: str, event: str, is_pull: int) -> SnapshotSource:
    there = f"x.is_pull = {is_pull} AND x.deleted_at IS NULL AND x.moved_to IS NULL"
    return _table(name, event, "issue", issues.COLUMNS, "number", where=there)


def _record(name: str, columns: str, **more: Any) -> SnapshotSource:
    artifact = f"{prefixed('x', columns)}, t.repo_id, t.name, t.version"
    source = f"{name} x JOIN artifact t ON t.id = x.artifact_id"
    return SnapshotSource(name, name, artifact, source, "t.repo_id", "x.id", "x.updated_at", **more)


# Imports that have ended, successfully or not.
OVER = ", ".join(f"'{status}'" for status in ("complete", *imports.NEEDS_ATTENTION))
_, _, REPOSITORY = repositories.SELECT.partition(" FROM ")
SNAPSHOT_SOURCES = (
    SnapshotSource(
        "repository",
        "repository",
        repositories.SELECT.removeprefix("SELECT ").partition(" FROM ")[0],
        REPOSITORY,
        "r.id",
        "r.id",
        "r.updated_at",
    ),
    _table("ref", "create", "ref", refs.COLUMNS, "name", lowest=LOWEST_TEXT),
    _table("label", "label", "label", labels.COLUMNS, "name_key", lowest=LOWEST_TEXT),
    _table("milestone", "milestone", "milestone", milestones.COLUMNS, "number"),
    _table(
        "collaborator",
        "member",
        "collaborator",
        "repo_id, account_id, role",
        "account_id",
        # The time at which an account became a collaborator is not stored.
        changed=":now",
    ),
    _issue("issue", "issues", 0),
    _issue("pull_request", "pull_request", 1),
    SnapshotSource(
        "issue_field_value",
        "issues",
        "v.id, v.issue_id, v.field_id, v.updated_at, i.repo_id",
        "issue_field_value v JOIN issue i ON i.id = v.issue_id",
        "i.repo_id",
        "v.id",
        "v.updated_at",
        where="i.deleted_at IS NULL AND i.moved_to IS NULL",
    ),
    _comment_source("comment", "issue_comment", "issue_comment"),
    _comment_source("review", "review", "pull_request_review"),
    _comment_source("line", "line_comment", "pull_request_review_comment"),
    _table("commit_comment", "commit_comment", "commit_comment", commit_comments.COLUMNS, "id"),
    SnapshotSource(
        "check_suite",
        "check_suite",
        check_suites.COLUMNS,
        "check_suite s",
        "s.repo_id",
        "s.number",
        "s.updated_at",
    ),
    SnapshotSource(
        "check_run",
        "check_run",
        check_runs.COLUMNS,
        check_runs.FROM.removeprefix("FROM "),
        "c.repo_id",
        "c.number",
        "c.updated_at",
        opened=check_runs.decode_row,
    ),
    SnapshotSource(
        "commit_status",
        "status",
        commit_statuses.COLUMNS,
        "commit_status s",
        "s.repo_id",
        "s.number",
        "s.updated_at",
    ),
    _table(
        "subscription",
        "repository_subscription",
        "watching",
        watching.COLUMNS,
        "account_id",
        changed="x.created_at",
    ),
    _table(
        "interaction_limit",
        "interaction_limit",
        "interaction_limit",
        interaction_limits.COLUMNS,
        "id",
        changed="x.created_at",
        where="x.expires_at > :now",
    ),
    _table(
        "cap", "pull_request_creation_cap", "repository_cap", "repo_id, enabled, most", "repo_id"
    ),
    _table(
        "bypass",
        "pull_request_bypass_list",
        "cap_bypass",
        "repo_id, account_id",
        "account_id",
        changed="x.created_at",
    ),
    _table(
        "invitation",
        "repository_invitation",
        "repository_invitation",
        invitations.COLUMNS,
        "id",
        changed="x.created_at",
        where="x.expires_at > :now",
    ),
    _table(
        "devenv_secret",
        "devenv_secret",
        "devenv_secret",
        devenv_secrets.COLUMNS,
        "name",
        lowest=LOWEST_TEXT,
    ),
    _record("deployment_record", deployment_records.COLUMNS, opened=deployment_records.decode_row),
    _record("storage_record", storage_records.COLUMNS),
    _table(
        "source_import",
        "repository_import",
        "source_import",
        "repo_id, account_id, status",
        "repo_id",
        where=f"x.status IN ({OVER})",
    ),
    _table(
        "hook",
        "ping",
        "hook",
        hooks.COLUMNS,
        "id",
        where="x.deleted_at IS NULL AND x.active = 1",
        opened=hooks.decode_row,
    ),
)
"""In an order in which objects come before others that need them."""
EVENTS = frozenset(one.event for one in SNAPSHOT_SOURCES)
