"""What the audit log is told of a request that changed something: never a value that came with it.

An operation's entry follows from its declaration; the names of fields are those that are declared,
for in what is not a name might be a secret, too.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from hub.auth.credentials import Caller
from hub.http.routing import path_of
from hub.rest.context import Services
from hub.rest.request import Request
from store import Connection, Row
from store.audit import audit_log
from store.audit.audit_log import Actor, AuditEntry

ANONYMOUS = "nobody"


def record(
    db: Connection,
    house: Services,
    call: Request,
    action: str,
    actor: Actor,
    status: int,
    *,
    target: str | None = None,
    fields: tuple[str, ...] = (),
    ids: Mapping[str, Any] | None = None,
) -> None:
    """Have an entry written with the change, which the path names unless `target` does."""
    path = path_of(call.scope).removeprefix(house.urls.prefix) if target is None else target
    entry = AuditEntry(
        actor, action, path, str(status), call.request_id, fields=fields, ids=dict(ids or {})
    )
    audit_log.add(db, entry)


def actor_of(
    house: Services, call: Request, caller: Caller | None, app: Row | None = None
) -> Actor:
    """Who asks, by what, and from where."""
    address = house.clients.origin(call.scope)
    if app is not None:
        return Actor(app["client_id"], "app", address=address)
    if caller is None:
        return Actor(ANONYMOUS, "anonymous", address=address)
    via = "password" if caller.kind == "password" else "token"
    return Actor(caller.login, via, caller.account_id, caller.token_id, address)


def ids_of(found: Mapping[str, Any], content: Any) -> dict[str, Any]:
    """The repository that a path leads through, and the id of what an answer shows."""
    ids: dict[str, Any] = {}
    repo = found.get("repo")
    if isinstance(repo, Mapping):
        ids["repository"] = repo["id"]
    if isinstance(content, Mapping) and isinstance(content.get("id"), int):
        ids["id"] = content["id"]
    return ids


def declared(schema: Mapping[str, Any]) -> frozenset[str]:
    """The names of the members of a body with this schema, and of those of its members."""
    return frozenset(_declared(schema, schema.get("$defs", {})))


def _declared(schema: Mapping[str, Any], known: Mapping[str, Any]) -> Iterator[str]:
    for name, part in _members(schema, known):
        yield name
        yield from (f"{name}.{inner}" for inner, _ in _members(part, known))


def _members(
    schema: Mapping[str, Any], known: Mapping[str, Any]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if "$ref" in schema:
        schema = known[schema["$ref"].rpartition("/")[2]]
    yield from schema.get("properties", {}).items()
    for one in ("anyOf", "oneOf", "allOf"):
        for part in schema.get(one, ()):
            yield from _members(part, known)


def changed(body: Any, names: frozenset[str]) -> tuple[str, ...]:
    """Those of the names that a body says anything of."""
    return tuple(sorted(names & set(_member_names(body))))


def _member_names(body: Any) -> Iterator[str]:
    for name, value in _pairs(body):
        yield name
        yield from (f"{name}.{inner}" for inner, _ in _pairs(value))


def _pairs(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, BaseModel):
        yield from ((name, getattr(value, name)) for name in value.model_fields_set)
    elif isinstance(value, Mapping):
        yield from value.items()
