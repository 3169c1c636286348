"""Repositories, and the roles of accounts in them."""

import re
from collections.abc import Iterable

from store.accounts import accounts
from store.accounts.role_grants import GRANTS
from store.accounts.viewers import visible_repositories
from store.database import paging, row_lookup, upsert
from store.database.connection import Connection, Row, json_array
from store.delivery.websub import websub
from store.errors import Conflict, Invalid
from store.repositories import repository_counts

NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")
ROLES = ("read", "triage", "write", "maintain", "admin")
SELECT = (
    "SELECT r.id, r.owner_id, a.login AS owner, a.kind AS owner_kind, r.name,"
    " a.login || '/' || r.name AS full_name, r.private, r.description, r.default_branch,"
    " r.created_at, r.updated_at, r.pushed_at, r.homepage, r.language, r.topics, r.fork,"
    " r.archived, r.forks, r.size, r.foreign_id"
    " FROM repository r JOIN account a ON a.id = r.owner_id"
)


def _check_name(name: str) -> None:
    if not NAME.fullmatch(name) or name in (".", ".."):
        raise Invalid(
            f"{name!r} is not a repository name: use 1 to 100 letters, digits, '.', '-' or '_'",
            field="name",
            resource="Repository",
        )


def create(
    db: Connection,
    owner_id: int,
    name: str,
    *,
    private: bool = False,
    description: str | None = None,
    default_branch: str = "main",
) -> Row:
    """Create a repository. Raises Invalid for a bad name, Conflict if the owner has one like it."""
    _check_name(name)
    values = {
        "owner_id": owner_id,
        "name": name,
        "name_key": name.lower(),
        "private": int(private),
        "description": description,
        "default_branch": default_branch,
        "created_at": db.now,
        "updated_at": db.now,
    }
    made = upsert.insert_if_absent(db, "repository", values, "owner_id, name_key")
    if made is None:
        raise Conflict(f"the owner has a repository {name!r} already")
    repository_counts.add(db, {(owner_id, int(private)): 1})
    _forget_name(db, owner_id, name)
    row = get(db, made)
    assert row is not None
    return row


def rename(db: Connection, repo: Row, name: str) -> Row:
    """Rename a repository. Its former name refers to it until that is used again.

    Raises Invalid for a bad name, Conflict if the owner has another repository with that name.
    """
    _check_name(name)
    holder = find(db, repo["owner"], name)
    if holder is not None and holder["id"] != repo["id"]:
        raise Conflict(f"the owner has a repository {name!r} already")
    db.update("repository", repo["id"], name=name, name_key=name.lower(), updated_at=db.now)
    former = {"owner_id": repo["owner_id"], "name_key": repo["name"].lower(), "repo_id": repo["id"]}
    upsert.insert_or_replace(db, "repository_name", former, "owner_id, name_key")
    _forget_name(db, repo["owner_id"], name)
    row = get(db, repo["id"])
    assert row is not None
    _rename_heads(db, repo, row["full_name"])
    return row


def _rename_heads(db: Connection, repo: Row, full_name: str) -> None:
    """Rename the repository in the pull requests from its branches, also in other repositories."""
    db.execute(
        "UPDATE pull SET head_repo = :full_name WHERE lower(head_repo) = :former",
        full_name=full_name,
        former=repo["full_name"].lower(),
    )


def _forget_name(db: Connection, owner_id: int, name: str) -> None:
    db.delete("repository_name", owner_id=owner_id, name_key=name.lower())


def by_former_name(db: Connection, owner: str, name: str) -> Row | None:
    """Return the repository that was formerly called `owner/name`, in any case, or None."""
    if "\0" in owner + name:
        return None
    return db.one(
        f"{SELECT} JOIN repository_name n ON n.repo_id = r.id"
        " JOIN account o ON o.id = n.owner_id"
        " WHERE o.login_key = :owner AND n.name_key = :name",
        owner=owner.lower(),
        name=name.lower(),
    )


def update(db: Connection, repo_id: int, *, private: bool, description: str | None) -> None:
    """Change a repository's visibility and description."""
    repository_counts.set_private(db, repo_id, private)
    db.update("repository", repo_id, description=description, updated_at=db.now)
    if private:
        websub.end_private(db, repo_id)


def imported(db: Connection, repo_id: int, default_branch: str | None, size: int) -> None:
    """Record that an import has replaced a repository's history. `size` is in bytes."""
    db.execute(
        "UPDATE repository SET default_branch = coalesce(:branch, default_branch),"
        " size = :kilobytes, pushed_at = :now, updated_at = :now WHERE id = :id",
        branch=default_branch,
        kilobytes=-(-size // 1024),
        id=repo_id,
    )


def find(db: Connection, owner: str, name: str) -> Row | None:
    """Return the repository `owner/name`, in any case, or None."""
    # Some engines reject a text with a NUL, and no name has one.
    if "\0" in owner + name:
        return None
    return db.one(
        f"{SELECT} WHERE a.login_key = :owner AND r.name_key = :name",
        owner=owner.lower(),
        name=name.lower(),
    )


def find_all(db: Connection, full_names: Iterable[str]) -> dict[str, Row]:
    """Return the repositories with these names `owner/name`, by name in lower case."""
    pairs = {name.lower().partition("/")[::2] for name in full_names}
    rows = db.all(
        f"{SELECT} JOIN {db.each('names', owner='text', name='text')} AS w"
        " ON w.owner = a.login_key AND w.name = r.name_key",
        names=json_array(sorted(pairs)),
    )
    return {row["full_name"].lower(): row for row in rows}


def find_by_any_name(db: Connection, full_names: Iterable[str]) -> dict[str, Row]:
    """Return the repositories that have or had these names `owner/name`, by name in lower case."""
    wanted = {name.lower() for name in full_names}
    found = find_all(db, wanted)
    former = db.mapping(
        f"SELECT w.owner || '/' || w.name, n.repo_id"
        f" FROM {db.each('names', owner='text', name='text')} AS w"
        " JOIN account o ON o.login_key = w.owner"
        " JOIN repository_name n ON n.owner_id = o.id AND n.name_key = w.name",
        names=json_array(sorted(name.partition("/")[::2] for name in wanted - found.keys())),
    )
    rows = of(db, set(former.values())) if former else {}
    return found | {name: rows[repo_id] for name, repo_id in former.items()}


def find_heads(db: Connection, repo: Row, full_names: Iterable[str]) -> dict[str, Row]:
    """Return the repositories of heads that everybody with access to `repo` may see.

    The keys are the given names, present or former ones, in lower case.
    """
    found = find_by_any_name(db, full_names)
    return {
        name: row for name, row in found.items() if not row["private"] or row["id"] == repo["id"]
    }


def get(db: Connection, repo_id: int) -> Row | None:
    """Return the repository with this id, or None."""
    return db.one(f"{SELECT} WHERE r.id = :id", id=repo_id)


def of(db: Connection, repo_ids: Iterable[int]) -> dict[int, Row]:
    """Return the repositories with these ids, by id. Unknown ids are left out."""
    return row_lookup.by_id(db, f"{SELECT} WHERE r.id", repo_ids)


def newest(db: Connection, owner_id: int | None = None) -> Row | None:
    """Return the newest repository, of an owner if one is given, or None."""
    where, given = paging.conditions({"owner_id = :owner_id": owner_id})
    found = db.optional_number(f"SELECT max(id) FROM repository WHERE {where}", **given)
    return None if found is None else get(db, found)


def list_all(db: Connection) -> list[Row]:
    """Return every repository, by owner and name."""
    return db.all(f"{SELECT} ORDER BY a.login_key, r.name_key")


def grant(db: Connection, repo_id: int, account_id: int, role: str) -> None:
    """Give an account a role as a collaborator. Raises Invalid for an unknown role."""
    if role not in ROLES:
        raise Invalid(f"{role!r} is not a role: use one of {', '.join(ROLES)}", field="role")
    values = {"repo_id": repo_id, "account_id": account_id, "role": role}
    upsert.insert_or_replace(db, "collaborator", values, "repo_id, account_id")


def revoke(db: Connection, repo_id: int, account_id: int) -> bool:
    """Take the role of a collaborator away. Return False if the account was given none."""
    deleted = db.delete("collaborator", repo_id=repo_id, account_id=account_id)
    return deleted > 0


def role_of(db: Connection, repo: Row, account: Row | None) -> str | None:
    """Return the highest role that applies, or None if the account may not see the repository.

    `account` needs `id` and `site_admin`; None is an anonymous caller. An installation (`reach`)
    has every role in the repositories that it covers, where its permissions limit it.
    """
    base = None if repo["private"] else "read"
    if account is None:
        return base
    if (reach := account.get("reach")) is not None:
        return "admin" if reach.covers(repo) else None
    if account["site_admin"] or account["id"] == repo["owner_id"]:
        return "admin"
    member = None
    if repo["owner_kind"] == "Organization":
        belongs = accounts.organization_role(db, repo["owner_id"], account["id"])
        if belongs == "admin":
            return "admin"
        member = {"member": "read"}.get(belongs or "")
    granted = db.column(
        f"SELECT role FROM {GRANTS} AS g WHERE repo_id = :repo_id AND account_id = :account_id",
        repo_id=repo["id"],
        account_id=account["id"],
    )
    held = [role for role in (base, member, *granted) if role is not None]
    return max(held, key=ROLES.index, default=None)


def find_visible_by_name(
    db: Connection, owner: Row, account: Row, names: Iterable[str]
) -> list[int]:
    """Return the ids of the owner's repositories that the account may see, by lower-case names."""
    named = f"{db.each('wanted', wanted='text')} AS w JOIN repository r ON r.name_key = w.wanted"
    return _seen(db, owner, account, named, names)


def find_visible_by_id(db: Connection, owner: Row, account: Row, ids: Iterable[int]) -> list[int]:
    """Return the ids of the owner's repositories among these that the account may see."""
    named = f"{db.each('wanted', wanted='integer')} AS w JOIN repository r ON r.id = w.wanted"
    return _seen(db, owner, account, named, ids)


def _seen(
    db: Connection, owner: Row, account: Row, named: str, wanted: Iterable[int | str]
) -> list[int]:
    return db.column(
        f"SELECT r.id FROM {named} AND r.owner_id = :owner_id"
        f" WHERE :site_admin = 1 OR {visible_repositories(':account_id')} ORDER BY r.id",
        wanted=json_array(wanted),
        owner_id=owner["id"],
        site_admin=account["site_admin"],
        account_id=account["id"],
    )


def at_least(role: str | None, wanted: str) -> bool:
    """Return whether `role` includes `wanted`."""
    return role is not None and ROLES.index(role) >= ROLES.index(wanted)
