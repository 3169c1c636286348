"""The accounts and repositories that pull requests refer to: branches, and who merges.

They are loaded with as few statements for many pull requests as for one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

from typing_extensions import TypedDict

from hub.rest.serializers import SimpleUser, simple_user, simple_users
from hub.rest.urls import Urls
from store import Connection, Row
from store.accounts import accounts
from store.repositories import repositories as stored


class AutoMerge(TypedDict):
    enabled_by: SimpleUser | None
    merge_method: Literal["merge", "squash", "rebase"]
    commit_title: str | None
    commit_message: str | None


class PullBranch(TypedDict):
    """A branch of a pull request. `repo` and `user` are null if they are not known here."""

    label: str | None
    ref: str | None
    sha: str | None
    user: SimpleUser | None
    repo: dict[str, Any] | None


RepositoriesSerializer = Callable[[Sequence[Row]], Sequence[Mapping[str, Any]]]
"""Serializes the repositories of branches, in their order."""


@dataclass(slots=True)
class PullRelations:
    """The accounts and repositories that the pull requests of a repository refer to."""

    urls: Urls
    repo: Row
    people: Mapping[int, SimpleUser]
    logins: Mapping[str, SimpleUser]
    """Owners of the heads' repositories, by login in lower case."""
    repositories: Mapping[str, Mapping[str, Any]]
    """By full name in lower case: those that everybody with access to this one may see."""

    @classmethod
    def of(
        cls,
        urls: Urls,
        db: Connection,
        repo: Row,
        rows: Sequence[Row],
        serialize_repositories: RepositoriesSerializer,
    ) -> Self:
        """Load the relations, with as few statements for many pull requests as for one."""
        ids = {row["merged_by_id"] for row in rows}
        for row in rows:
            details = row["details"]
            ids |= {*details.get("reviewers", ())}
            ids.add((details.get("auto_merge") or {}).get("enabled_by"))
        names = {row["head_repo"] for row in rows if row["head_repo"]} | {repo["full_name"]}
        owners = accounts.by_logins(db, [name.partition("/")[0] for name in names])
        known = {login: simple_user(urls, row) for login, row in owners.items()}
        found = stored.find_all(db, names).values()
        seen = [row for row in found if not row["private"] or row["id"] == repo["id"]]
        shown = {
            row["full_name"].lower(): one
            for row, one in zip(seen, serialize_repositories(seen), strict=True)
        }
        return cls(urls, repo, simple_users(urls, db, ids), known, shown)

    def branch(self, row: Row, end: str, full_name: str | None) -> PullBranch:
        """Serialize the `head` or `base`, which is in the repository of this name."""
        owner = full_name.partition("/")[0] if full_name else None
        ref = row[f"{end}_ref"]
        return {
            "label": f"{owner}:{ref}" if owner and ref else ref,
            "ref": ref,
            "sha": row[f"{end}_sha"],
            "user": self.logins.get(owner.lower()) if owner else None,
            "repo": self._repository(full_name),
        }

    def _repository(self, full_name: str | None) -> dict[str, Any] | None:
        found = self.repositories.get(full_name.lower()) if full_name else None
        return None if found is None else {**found}

    def auto_merge(self, given: Mapping[str, Any] | None) -> AutoMerge | None:
        """Serialize the merge that happens once all requirements are met."""
        if given is None:
            return None
        return {
            "enabled_by": self.people.get(given["enabled_by"]),
            "merge_method": given["merge_method"],
            "commit_title": given["commit_title"],
            "commit_message": given["commit_message"],
        }
