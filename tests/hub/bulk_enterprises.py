"""Rows for the lists of enterprise teams, assistant seats, and artifact records."""

from typing import Any

from bulk_owners import people, team_ids
from enterprises_world import TEAM
from operations_world import DIGEST, World

from store import Connection
from store.accounts import teams as store_teams
from store.artifacts.storage_records import Storage
from store.assistant import seat_rows


def _of_globe(db: Connection, what: str, **given: Any) -> int:
    found: int = db.value(f"SELECT {what}", **given)
    return found


def _enterprise(db: Connection) -> int:
    return _of_globe(db, "id FROM enterprise WHERE slug = 'globe'")


def _team(db: Connection) -> int:
    found = "id FROM enterprise_team WHERE slug = :slug AND enterprise_id = :enterprise_id"
    return _of_globe(db, found, slug=TEAM, enterprise_id=_enterprise(db))


def teams(db: Connection, world: World, n: int) -> None:
    columns = "id, enterprise_id, slug, name, selection, notification_setting"
    owner, setting = _enterprise(db), "notifications_enabled"
    rows = [
        (one, owner, f"ent:t{one}", f"T{one}", "disabled", setting, 1, 1) for one in team_ids(db, n)
    ]
    db.insert_many("enterprise_team", f"{columns}, created_at, updated_at", rows)


def members(db: Connection, world: World, n: int) -> None:
    rows = [(_team(db), account_id, 1) for account_id in people(db, n)]
    db.insert_many("enterprise_team_member", "team_id, account_id, created_at", rows)
    store_teams.count_members(db, "enterprise_team", {_team(db): n})


def organizations(db: Connection, world: World, n: int) -> None:
    made, owner, team = people(db, n, kind="Organization"), _enterprise(db), _team(db)
    rows = [(each, owner) for each in made]
    db.insert_many("enterprise_organization", "organization_id, enterprise_id", rows)
    assigned = [(team, each) for each in made]
    db.insert_many("enterprise_team_organization", "team_id, organization_id", assigned)


def seats(db: Connection, world: World, n: int) -> None:
    acme = world.acme.account["id"]
    seat_rows.insert(db, acme, dict.fromkeys(people(db, n)), personal=True)


def _artifact(db: Connection, world: World, n: int, kind: str) -> int:
    """Add `n` to the artifact's count of this kind of records. Return the artifact's id."""
    made: int = db.value(
        "INSERT INTO artifact (organization_id, repo_id, digest, name, created_at, updated_at)"
        " VALUES (:acme, :repo_id, :digest, 'bell', 1, 1) ON CONFLICT (repo_id, digest)"
        " DO UPDATE SET updated_at = 1 RETURNING id",
        acme=world.acme.account["id"],
        repo_id=world.acme.repo["id"],
        digest=DIGEST,
    )
    db.execute(f"UPDATE artifact SET {kind} = {kind} + :n WHERE id = :id", n=n, id=made)
    return made


def deployed(db: Connection, world: World, n: int) -> None:
    columns = (
        "organization_id, artifact_id, digest, cluster, logical_environment,"
        " physical_environment, deployment_name, status, created_at, updated_at"
    )
    of = world.acme.account["id"], _artifact(db, world, n, "deployments"), DIGEST
    first = (db.value("SELECT max(id) FROM deployment_record") or 0) + 1
    rows = [(*of, "", "live", "", f"n{at}", "deployed", 1, 1) for at in range(first, first + n)]
    db.insert_many("deployment_record", columns, rows)


def stored(db: Connection, world: World, n: int) -> None:
    columns = (
        "organization_id, artifact_id, digest, registry_url, repository, path, place, artifact_url,"
        " status, created_at, updated_at"
    )
    of = world.acme.account["id"], _artifact(db, world, n, "storages"), DIGEST
    first = (db.value("SELECT max(id) FROM storage_record") or 0) + 1
    kept = ((f"p{at}", f"https://r.example/p{at}") for at in range(first, first + n))
    registry = "https://r.example/"
    rows = [
        (*of, registry, "", path, Storage(registry, path=path).place, url, "active", 1, 1)
        for path, url in kept
    ]
    db.insert_many("storage_record", columns, rows)
