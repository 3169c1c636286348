"""The application of repositories, with their collaborators, watchers, refs and license file."""

from hub.cli.console.options import account
from hub.cli.state import ages, parts
from hub.cli.state.changes import Outcome, StateChange, combined, outcome_of
from store import Connection, Row
from store.projection import projection_table, repository_projection
from store.repositories import licenses, membership_dump, refs, repositories, watching

NAMES = (
    "forks",
    "size",
    "default_branch",
    "homepage",
    "language",
    "topics",
    "fork",
    "archived",
)
# The names in platforms' payloads, where they differ.
TOLD = {"forks": "forks_count"}


def repository(db: Connection, wanted: parts.RepositoryEntry) -> StateChange:
    """Create or update a repository."""
    owner, name = wanted.name.split("/")
    row = repositories.find(db, owner, name)
    outcome: Outcome = "created"
    if row is None:
        row = repositories.create(
            db,
            account(db, owner)["id"],
            name,
            private=wanted.private,
            description=wanted.description,
        )
    else:
        outcome = _redescribe(db, row, wanted)
    before = membership_dump.collaborators(db, row["id"])
    for login, role in wanted.collaborators.items():
        repositories.grant(db, row["id"], account(db, login)["id"], role)
    changed = before != membership_dump.collaborators(db, row["id"])
    changed = _around(db, row, wanted) or changed
    changed = ages.give(db, "repository", row, wanted.created_at) or changed
    return StateChange("repository", wanted.name, combined(outcome, changed))


def _redescribe(db: Connection, row: Row, wanted: parts.RepositoryEntry) -> Outcome:
    before = {"private": bool(row["private"]), "description": row["description"]}
    after = before | wanted.given("private", "description")
    if after != before:
        repositories.update(
            db, row["id"], private=bool(after["private"]), description=after["description"]
        )
    return outcome_of(before, after)


def _around(db: Connection, repo: Row, wanted: parts.RepositoryEntry) -> bool:
    """Set a repository's watchers, stars, refs and license file, and its fields from payloads.

    Return whether that changes anything.
    """
    changed = _watchers(db, repo, wanted)
    if "stars" in wanted.model_fields_set:
        changed = watching.set_stars(db, repo["id"], wanted.stars) or changed
    changed = _payload(db, repo, wanted) or changed
    if wanted.license_file is not None:
        branch = wanted.license_file.branch or repo["default_branch"]
        changed = licenses.put(db, repo["id"], branch, wanted.license_file.file) or changed
    return changed


def _watchers(db: Connection, repo: Row, wanted: parts.RepositoryEntry) -> bool:
    before = watching.settings(db, repo["id"])
    for login, how in wanted.watchers.items():
        if before.get(login) != how:
            watching.put(
                db,
                repo["id"],
                account(db, login)["id"],
                subscribed=how == "watching",
                ignored=how == "ignoring",
            )
    return before != watching.settings(db, repo["id"])


def _payload(db: Connection, repo: Row, wanted: parts.RepositoryEntry) -> bool:
    """Set the fields that platforms' payloads have, and the refs. Return whether that changes
    anything.
    """
    given = {TOLD.get(name, name): value for name, value in wanted.given(*NAMES).items()}
    before = repositories.get(db, repo["id"])
    repository_projection.put(db, repo, given, projection_table.projected_events(db))
    changed = [refs.put(db, repo["id"], name, sha) for name, sha in _refs(wanted)]
    return any(changed) or before != repositories.get(db, repo["id"])


def _refs(wanted: parts.RepositoryEntry) -> list[tuple[str, str]]:
    heads = [(f"refs/heads/{name}", sha) for name, sha in wanted.branches.items()]
    return heads + [(f"refs/tags/{name}", sha) for name, sha in wanted.tags.items()]
