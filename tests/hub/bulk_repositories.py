"""Rows for the lists of repositories and their content, organizations, and teams."""

import json
from collections import Counter
from collections.abc import Callable

from bulk_owners import numbers, people, repositories, team_ids
from operations_world import COMMIT, World

from store import Connection
from store.accounts import accounts
from store.accounts import teams as store_teams
from store.enterprises import team_repositories
from store.repositories import ref_counts, refs

Add = Callable[[Connection, World, int], None]


def owned_by(login: str) -> Add:
    def add(db: Connection, world: World, n: int) -> None:
        owner = db.value("SELECT id FROM account WHERE login = :login", login=login)
        repositories(db, [owner] * n)

    return add


def collaborators(db: Connection, world: World, n: int) -> None:
    rows = [(world.hello.repo["id"], who, "write") for who in people(db, n)]
    db.insert_many("collaborator", "repo_id, account_id, role", rows)


def stars(db: Connection, world: World, n: int) -> None:
    rows = [(world.hello.repo["id"], who, 1) for who in people(db, n)]
    db.insert_many("star", "repo_id, account_id, starred_at", rows)


def refs_in(folder: str) -> Add:
    def add(db: Connection, world: World, n: int) -> None:
        repo_id = world.hello.repo["id"]
        known = db.value("SELECT count(*) FROM ref")
        rows = [(repo_id, f"{folder}r{known + at}", COMMIT, 1) for at in range(n)]
        db.insert_many("ref", "repo_id, name, sha, updated_at", rows)
        ref_counts.add(db, repo_id, Counter({folder[: refs.FOLDER]: n}))

    return add


def topics(db: Connection, world: World, n: int) -> None:
    repo_id = world.hello.repo["id"]
    known = json.loads(db.value("SELECT topics FROM repository WHERE id = :id", id=repo_id))
    named = json.dumps([*known, *(f"t{len(known) + at}" for at in range(n))])
    db.execute("UPDATE repository SET topics = :topics WHERE id = :id", topics=named, id=repo_id)


def members(db: Connection, world: World, n: int) -> None:
    join(db, [(world.acme.account["id"], who) for who in people(db, n)])


def organizations_of(login: str) -> Add:
    def add(db: Connection, world: World, n: int) -> None:
        who = db.value("SELECT id FROM account WHERE login = :login", login=login)
        join(db, [(made, who) for made in people(db, n, "Organization")])

    return add


def join(db: Connection, pairs: list[tuple[int, int]], public: int = 1) -> None:
    """Make accounts members of organizations: pairs of an organization and an account."""
    columns = "organization_id, account_id, role, public"
    db.insert_many("membership", columns, [(*pair, "member", public) for pair in pairs])
    accounts.count_memberships(db, Counter((account_id, public) for _, account_id in pairs))


def teams(db: Connection, world: World, n: int) -> list[int]:
    columns = (
        "id, organization_id, slug, name, privacy, permission, notification_setting, created_at,"
        " updated_at"
    )
    rows = [
        (at, world.acme.account["id"], f"t{at}", f"t{at}", "closed", "pull", "on", 1, 1)
        for at in team_ids(db, n)
    ]
    store_teams.count_teams(db, {(world.acme.account["id"], "closed"): n})
    return numbers(db, "team", columns, rows)


def teams_of_repository(db: Connection, world: World, n: int) -> None:
    rows = [(world.acme.repo["id"], team, "write") for team in teams(db, world, n)]
    db.insert_many("team_repository", "repo_id, team_id, role", rows)
    team_repositories.add(db, world.acme.repo["id"], n)
