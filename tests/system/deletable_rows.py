"""Rows for DELETE requests only, so that the rows for other requests stay."""

from operations_world import COMMIT, World

from store import Connection
from store.accounts import accounts, authorizations, grants
from store.agents import agent_variables
from store.devenvs import devenv_secrets
from store.enterprises import enterprise_teams, enterprises
from store.hooks import hooks
from store.issues import commit_comments, issue_fields, label_changes, milestone_changes
from store.repositories import invitations
from store.repositories.markdown import RenderedText

MANY = range(10)
# Labels and agent variables share a parameter of paths, so they have the same names.
NAMES = [f"REGION_{n}" for n in MANY]
Found = dict[str, list[object]]


def deletable(db: Connection, world: World, receiver: str) -> Found:
    """Create the rows. Return their ids, names or tokens by the parameter that selects them."""
    return _of_people(db, world) | _of_repository(db, world, receiver) | _of_holdings(db, world)


def _of_people(db: Connection, world: World) -> Found:
    reader = world.reader.account["id"]
    guest = accounts.create(db, "guest")["id"]
    grants.issue(db, world.mill, reader)
    grant = grants.of_app(db, reader, world.mill["id"])
    assert grant is not None
    made = [authorizations.create_personal(db, reader, note=str(n))[1]["id"] for n in MANY]
    held = [grants.issue(db, world.lab, guest)[0] for _ in MANY]
    return {"authorization_id": made, "grant_id": [grant["id"]], "access_token": list(held)}


def _of_repository(db: Connection, world: World, receiver: str) -> Found:
    repo, octo = world.hello.repo["id"], world.octo.account["id"]
    guests = [accounts.create(db, f"guest-{n}")["id"] for n in MANY]
    found = {
        "hook_id": [hooks.create(db, repo, url=f"{receiver}/{n}", events=["push"]) for n in MANY],
        "comment_id": [
            commit_comments.create(db, repo, octo, COMMIT, RenderedText(str(n))) for n in MANY
        ],
        "invitation_id": [invitations.invite(db, repo, one, octo, "read")[0] for one in guests],
    }
    names: list[object] = [f"KEY_{n}" for n in MANY]
    for name in names:
        devenv_secrets.put(db, repo, str(name), b"hush")
    for label in NAMES:
        label_changes.create(db, repo, {"name": label})
    milestones = [milestone_changes.create(db, repo, octo, {"title": str(n)}) for n in MANY]
    ids: Found = {key: [row["id"] for row in rows] for key, rows in found.items()}
    numbers: list[object] = [row["number"] for row in milestones]
    return ids | {"secret_name": names, "milestone_number": numbers}


def _of_holdings(db: Connection, world: World) -> Found:
    acme, globe = world.acme.account["id"], enterprises.by_slug(db, "globe")
    assert globe is not None
    fields = [issue_fields.create(db, acme, f"Field {n}", "number")["id"] for n in MANY]
    for name in NAMES:
        agent_variables.create(db, acme, name, "x", "all", [])
    teams = [enterprise_teams.create(db, globe["id"], f"Team {n}")["slug"] for n in MANY]
    return {"issue_field_id": fields, "name": [*NAMES], "team_slug": teams}
