"""Enterprises, their members and their organizations."""

import re
from collections.abc import Iterable

from store.database import upsert
from store.database.connection import Connection, Row, json_array, prefixed
from store.errors import Conflict, Invalid

COLUMNS = "id, slug, name, usage_metrics, created_at, updated_at"
SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,58}[a-z0-9])?")
ROLES = ("member", "billing_manager", "owner")
POLICIES = ("enabled", "disabled", "unconfigured")
"""The policies for usage of the assistant. `disabled` usage is rejected, and only `enabled` usage
is shown in reports.
"""


def create(db: Connection, slug: str, *, name: str | None = None) -> Row:
    """Create an enterprise. Raises Invalid for a bad slug, Conflict for an existing one."""
    key = slug.lower()
    if not SLUG.fullmatch(key):
        raise Invalid(f"{slug!r} is not a slug: use up to 60 letters, digits and '-'", field="slug")
    row = db.one(
        "INSERT INTO enterprise (slug, name, created_at, updated_at)"
        " VALUES (:slug, :name, :now, :now)"
        f" ON CONFLICT (slug) DO NOTHING RETURNING {COLUMNS}",
        slug=key,
        name=name or slug,
    )
    if row is None:
        raise Conflict(f"there is an enterprise {slug!r} already")
    return row


def by_slug(db: Connection, slug: str) -> Row | None:
    """Return the enterprise with this slug, in any case, or None."""
    return db.one(f"SELECT {COLUMNS} FROM enterprise WHERE slug = :slug", slug=slug.lower())


def get(db: Connection, enterprise_id: int) -> Row | None:
    """Return the enterprise with this id, or None."""
    return db.one(f"SELECT {COLUMNS} FROM enterprise WHERE id = :id", id=enterprise_id)


def enable_usage_metrics(db: Connection, enterprise: Row, policy: str) -> None:
    """Set the policy for an enterprise's usage of the assistant.

    Raises Invalid if it is not one of POLICIES.
    """
    if policy not in POLICIES:
        raise Invalid(f"{policy!r} is none of {', '.join(POLICIES)}", field="usage_metrics")
    db.execute(
        "UPDATE enterprise SET usage_metrics = :policy, updated_at = :now"
        " WHERE id = :id AND usage_metrics <> :policy",
        policy=policy,
        id=enterprise["id"],
    )


def rename(db: Connection, enterprise: Row, name: str) -> None:
    """Rename an enterprise. Its slug stays."""
    db.execute(
        "UPDATE enterprise SET name = :name, updated_at = :now WHERE id = :id AND name <> :name",
        name=name,
        id=enterprise["id"],
    )


def join(db: Connection, enterprise_id: int, account_id: int, role: str) -> None:
    """Give a user a role: one of ROLES. Raises Invalid for another one."""
    if role not in ROLES:
        raise Invalid(
            f"{role!r} is not a role in an enterprise: use one of {', '.join(ROLES)}", field="role"
        )
    values = {"enterprise_id": enterprise_id, "account_id": account_id, "role": role}
    upsert.insert_or_replace(db, "enterprise_member", values, "enterprise_id, account_id")


def members(db: Connection, enterprise_id: int) -> dict[str, str]:
    """Return login to role, by login, without members through an organization."""
    return db.mapping(
        "SELECT a.login, m.role FROM enterprise_member m JOIN account a ON a.id = m.account_id"
        " WHERE m.enterprise_id = :enterprise_id ORDER BY a.login_key",
        enterprise_id=enterprise_id,
    )


def role_of(db: Connection, enterprise: Row, account: Row) -> str | None:
    """Return the account's role (one of ROLES), or None.

    Members of the enterprise's organizations are members, and site administrators are owners.
    `account` needs `id` and `site_admin`.
    """
    if account["site_admin"]:
        return "owner"
    role: str | None = db.find_value(
        "SELECT role FROM enterprise_member",
        enterprise_id=enterprise["id"],
        account_id=account["id"],
    )
    if role is None and memberships_of(db, enterprise["id"], [account["id"]]):
        return "member"
    return role


def memberships_of(db: Connection, enterprise_id: int, account_ids: Iterable[int]) -> set[int]:
    """Return which of these accounts are members, directly or through an organization."""
    found = db.column(
        f"SELECT w.id FROM {db.each('ids', id='integer')} AS w WHERE EXISTS"
        " (SELECT 1 FROM enterprise_member e WHERE e.enterprise_id = :enterprise_id"
        " AND e.account_id = w.id) OR EXISTS (SELECT 1 FROM membership m"
        " JOIN enterprise_organization o ON o.organization_id = m.organization_id"
        " WHERE m.account_id = w.id AND o.enterprise_id = :enterprise_id)",
        ids=json_array(account_ids),
        enterprise_id=enterprise_id,
    )
    return set(found)


def adopt(db: Connection, enterprise_id: int, organization_id: int) -> bool:
    """Add an organization. Return False if it belongs to the enterprise already.

    Raises Conflict if it belongs to another one.
    """
    owner = of_organization(db, organization_id)
    if owner is not None and owner["id"] != enterprise_id:
        raise Conflict(f"the organization is one of the enterprise {owner['slug']!r}")
    added = db.execute(
        "INSERT INTO enterprise_organization (organization_id, enterprise_id)"
        " VALUES (:organization_id, :enterprise_id) ON CONFLICT (organization_id) DO NOTHING",
        organization_id=organization_id,
        enterprise_id=enterprise_id,
    )
    return added > 0


def of_organization(db: Connection, organization_id: int) -> Row | None:
    """Return the enterprise of an organization, or None."""
    columns = prefixed("e", COLUMNS)
    return db.one(
        f"SELECT {columns} FROM enterprise_organization o JOIN enterprise e"
        " ON e.id = o.enterprise_id WHERE o.organization_id = :organization_id",
        organization_id=organization_id,
    )


def organizations(db: Connection, enterprise_id: int) -> dict[int, str]:
    """Return id to login of the enterprise's organizations."""
    return db.mapping(
        "SELECT a.id, a.login FROM enterprise_organization o JOIN account a"
        " ON a.id = o.organization_id WHERE o.enterprise_id = :enterprise_id",
        enterprise_id=enterprise_id,
    )
