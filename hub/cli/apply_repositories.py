"""Bringing repositories, and what is around them, to a state document."""

from hub.cli import parts
from hub.cli.changes import Change, Outcome, outcome_of, together
from hub.cli.options import account
from store import (
    Connection,
    Row,
    foreign_repositories,
    licenses,
    people,
    reflecting,
    refs,
    repositories,
    watching,
)

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
# As platforms call them.
TOLD = {"forks": "forks_count"}


def repository(db: Connection, wanted: parts.Repository) -> Change:
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
    before = people.collaborators(db, row["id"])
    for login, role in wanted.collaborators.items():
        repositories.grant(db, row["id"], account(db, login)["id"], role)
    changed = before != people.collaborators(db, row["id"])
    changed = _around(db, row, wanted) or changed
    return Change("repository", wanted.name, together(outcome, changed))


def _redescribe(db: Connection, row: Row, wanted: parts.Repository) -> Outcome:
    before = {"private": bool(row["private"]), "description": row["description"]}
    after = before | wanted.given("private", "description")
    if after != before:
        repositories.update(
            db, row["id"], private=bool(after["private"]), description=after["description"]
        )
    return outcome_of(before, after)


def _around(db: Connection, repo: Row, wanted: parts.Repository) -> bool:
    """Set who watches a repository, its stars and its license file; whether that changes
    anything.
    """
    changed = _watchers(db, repo, wanted)
    if "stars" in wanted.model_fields_set:
        changed = watching.set_stars(db, repo["id"], wanted.stars) or changed
    changed = _told(db, repo, wanted) or changed
    if wanted.license_file is not None:
        branch = wanted.license_file.branch or repo["default_branch"]
        changed = licenses.put(db, repo["id"], branch, wanted.license_file.file) or changed
    return changed


def _watchers(db: Connection, repo: Row, wanted: parts.Repository) -> bool:
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


def _told(db: Connection, repo: Row, wanted: parts.Repository) -> bool:
    """Set what platforms tell of a repository."""
    given = {TOLD.get(name, name): value for name, value in wanted.given(*NAMES).items()}
    before = repositories.get(db, repo["id"])
    foreign_repositories.put(db, repo, given, reflecting.stated(db))
    changed = [refs.put(db, repo["id"], name, sha) for name, sha in _refs(wanted)]
    return any(changed) or before != repositories.get(db, repo["id"])


def _refs(wanted: parts.Repository) -> list[tuple[str, str]]:
    heads = [(f"refs/heads/{name}", sha) for name, sha in wanted.branches.items()]
    return heads + [(f"refs/tags/{name}", sha) for name, sha in wanted.tags.items()]
