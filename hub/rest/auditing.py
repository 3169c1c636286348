"""Audit log entries for requests that change something. They never hold a submitted value.

An operation's entry follows from its declaration. Only declared field names are written, because an
undeclared name could itself be a secret.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from hub.auth.credentials import Caller
from hub.http.secret_paths import shown_path
from hub.rest.context import Services
from hub.rest.request import Request
from store import Connection, Row
from store.audit import audit_log
from store.audit.audit_log import Actor, AuditEntry

ANONYMOUS = "nobody"


def record(
    db: Connection,
    services: Services,
    request: Request,
    action: str,
    actor: Actor,
    status: int,
    *,
    target: str | None = None,
    fields: tuple[str, ...] = (),
    ids: Mapping[str, Any] | None = None,
) -> None:
    """Add an audit entry in the transaction of the change.

    The target is the request's path, without a secret in it, unless `target` is given.
    """
    if target is None:
        target = shown_path(request.scope).removeprefix(services.urls.prefix)
    entry = AuditEntry(
        actor, action, target, str(status), request.request_id, fields=fields, ids=dict(ids or {})
    )
    audit_log.add(db, entry)


def actor_of(
    services: Services, request: Request, caller: Caller | None, app: Row | None = None
) -> Actor:
    """Return who makes the request, the kind of credentials, and the client's address."""
    address = services.clients.origin(request.scope)
    if app is not None:
        return Actor(app["client_id"], "app", address=address)
    if caller is None:
        return Actor(ANONYMOUS, "anonymous", address=address)
    via = "password" if caller.kind == "password" else "token"
    return Actor(caller.login, via, caller.account_id, caller.token_id, address)


def ids_of(found: Mapping[str, Any], content: Any) -> dict[str, Any]:
    """Return the id of the repository in the path and the id of the object in the response."""
    ids: dict[str, Any] = {}
    repo = found.get("repo")
    if isinstance(repo, Mapping):
        ids["repository"] = repo["id"]
    if isinstance(content, Mapping) and isinstance(content.get("id"), int):
        ids["id"] = content["id"]
    return ids


def declared(schema: Mapping[str, Any]) -> frozenset[str]:
    """Return the member names of a body with this schema, one level of nesting included (`a.b`)."""
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
    """Return which of `names` occur in a body, sorted."""
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
