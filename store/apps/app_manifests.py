"""Manifests: descriptions of apps that are made when a program sends the one-time code."""

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from store.accounts import apps
from store.accounts.permissions import checked
from store.accounts.tokens import digest
from store.apps import app_hooks
from store.clock import HOUR
from store.database.connection import Connection, Row
from store.errors import Invalid

LIFETIME = HOUR
# A code that ends later than any can was made while the clock was fast.
LATEST = 2 * HOUR
MEMBERS = {
    "name": str,
    "url": str,
    "description": str,
    "public": bool,
    "default_permissions": dict,
    "default_events": list,
    "hook_attributes": dict,
}
"""The members of a manifest that are used, and their types."""
REQUIRED = ("name", "url")


def create(db: Connection, owner_id: int, manifest: Mapping[str, Any]) -> str:
    """Store a manifest. Return the code for it, which is not stored and is valid for an hour.

    Raises Invalid for a manifest that lacks something or has a wrong value.
    """
    wanted = checked_manifest(manifest)
    code = secrets.token_hex(20)
    db.execute("DELETE FROM app_manifest WHERE expires_at <= :now")
    db.execute(
        "INSERT INTO app_manifest (code_hash, owner_id, manifest, expires_at)"
        " VALUES (:hash, :owner_id, :manifest, :ends)",
        hash=digest(code),
        owner_id=owner_id,
        manifest=json.dumps(wanted),
        ends=db.now + LIFETIME,
    )
    return code


def checked_manifest(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members that are used. Raises Invalid for a missing or wrong one."""
    found = {name: manifest[name] for name in MEMBERS if manifest.get(name) is not None}
    for name, value in found.items():
        if not isinstance(value, MEMBERS[name]):
            raise Invalid(f"{name} in the manifest has the wrong type", field=name)
    for name in REQUIRED:
        if name not in found:
            raise Invalid(f"the manifest has no {name}", field=name, code="missing_field")
    if not all(isinstance(level, str) for level in found.get("default_permissions", {}).values()):
        raise Invalid("default_permissions must be names with levels", field="default_permissions")
    if not all(isinstance(name, str) for name in found.get("default_events", [])):
        raise Invalid("default_events must be names of events", field="default_events")
    checked(found.get("default_permissions", {}))
    apps.checked_events(found.get("default_events", []))
    apps.check_url(found["url"], "url")
    if hook_url(found) is not None:
        apps.check_url(str(hook_url(found)), "hook_attributes")
    return found


def hook_url(manifest: Mapping[str, Any]) -> str | None:
    """Return the URL of the hook that a manifest wants for its app, or None."""
    wanted = manifest.get("hook_attributes", {})
    url = wanted.get("url") if wanted.get("active", True) is True else None
    return url if isinstance(url, str) else None


@dataclass(frozen=True, slots=True)
class ConvertedManifest:
    """The app of a manifest, with its secrets. Without a hook it has no `webhook_secret`."""

    app: Row
    client_secret: str = field(repr=False)
    hook: Row | None
    webhook_secret: str | None = field(repr=False)


def convert(db: Connection, code: str) -> ConvertedManifest | None:
    """Create the app of the manifest with this code, and its hook if the manifest names a URL.

    Return None if the code is unknown, used or too old. Raises Conflict if the name is in use
    by now; then the code stays valid.
    """
    found = db.one(
        "DELETE FROM app_manifest WHERE code_hash = :hash AND expires_at > :now"
        " AND expires_at <= :latest RETURNING owner_id, manifest",
        hash=digest(code),
        latest=db.now + LATEST,
    )
    if found is None:
        return None
    wanted = json.loads(found["manifest"])
    secret, app = apps.create(
        db,
        found["owner_id"],
        wanted["name"],
        url=wanted["url"],
        kind="integration",
        description=wanted.get("description"),
        permissions=wanted.get("default_permissions"),
        events=wanted.get("default_events", ()),
        public=wanted.get("public", True),
    )
    url = hook_url(wanted)
    if url is None:
        return ConvertedManifest(app, secret, None, None)
    signed_with = secrets.token_hex(20)
    hook = app_hooks.create(db, app, url=url, content_type="json", secret=signed_with)
    return ConvertedManifest(app, secret, hook, signed_with)
