"""The application of sources and hooks."""

from hub.cli.console.options import account, repository_named
from hub.cli.state import parts
from hub.cli.state.changes import StateChange, secret
from store import Connection, Row
from store.delivery import hooks, sources
from store.errors import Conflict


def source(db: Connection, wanted: parts.SourceEntry) -> StateChange:
    """Create a source, or change its secret. Raises Conflict if its owner would change."""
    given = wanted.secret.get_secret_value()
    owner_id = None if wanted.owner is None else account(db, wanted.owner)["id"]
    known = next((row for row in sources.secrets(db) if row["name"] == wanted.name), None)
    if known is None:
        sources.create(db, wanted.name, given, owner_id=owner_id)
        return StateChange("source", wanted.name, "created")
    if "owner" in wanted.model_fields_set and known["owner_id"] != owner_id:
        raise Conflict(f"the source {wanted.name!r} has another owner; remove it first")
    if db.vault.open(known["secret"]) == given:
        return StateChange("source", wanted.name, "unchanged")
    sources.set_secret(db, known["id"], given)
    return StateChange("source", wanted.name, "updated")


def hook(most: int, db: Connection, wanted: parts.HookEntry) -> StateChange:
    """Create or update a hook. `most` limits a repository's hooks for the same event; 0 is no
    limit.
    """
    repo = repository_named(db, wanted.repository)
    name = f"{repo['full_name']} {wanted.url}"
    known = hooks.by_url(db, repo["id"], wanted.url)
    fields = {
        **wanted.model_dump(include={"events", "content_type", "insecure_ssl", "active"}),
        "secret": secret(wanted.secret),
        "options": wanted.delivery.model_dump(exclude_none=True),
    }
    if known is None:
        hooks.create(db, repo["id"], url=wanted.url, most=most, **fields)
        return StateChange("hook", name, "created")
    before = _hook_fields(db, known)
    given = {"options" if key == "delivery" else key for key in wanted.model_fields_set}
    changes = {key: fields[key] for key in given & fields.keys() if fields[key] != before[key]}
    if changes:
        hooks.update(db, known, most=most, **changes)
    return StateChange("hook", name, "updated" if changes else "unchanged")


def _hook_fields(db: Connection, known: Row) -> Row:
    return {
        "events": known["events"],
        "content_type": known["content_type"],
        "insecure_ssl": bool(known["insecure_ssl"]),
        "active": bool(known["active"]),
        "secret": hooks.secret_of(db, known),
        "options": known["options"],
    }
