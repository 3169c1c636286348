"""The accounts and repositories that pull requests refer to: branches, and who merges.

They are loaded with as few statements for many pull requests as for one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

from typing_extensions import TypedDict

from hub.api.repositories import stand_ins
from hub.rest.serializers import SimpleUser, simple_user, simple_users
from hub.rest.urls import Urls
from store import Connection, Row
from store.accounts import accounts
from store.repositories import repositories as stored


class AutoMerge(TypedDict):
    enabled_by: SimpleUser
    merge_method: Literal["merge", "squash", "rebase"]
    commit_title: str
    commit_message: str


class PullBranch(TypedDict):
    """A branch of a pull request. The id of `repo` and of `user` is 0 if they are not known here.

    The texts are empty if no event has reported them.
    """

    label: str
    ref: str
    sha: str
    user: SimpleUser
    repo: dict[str, Any]


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
    """By present or former name in lower case: those that everybody with access to this one may
    see."""

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
        heads = stored.find_heads(db, repo, names)
        shown = dict(zip(heads, serialize_repositories([*heads.values()]), strict=True))
        return cls(urls, repo, simple_users(urls, db, ids), known, shown)

    def branch(self, row: Row, end: str, full_name: str | None) -> PullBranch:
        """Serialize the `head` or `base`, which is in the repository of this name."""
        owner = full_name.partition("/")[0] if full_name else stand_ins.GHOST
        ref = row[f"{end}_ref"] or ""
        known = self.logins.get(owner.lower())
        return {
            "label": f"{owner}:{ref}" if full_name and ref else ref,
            "ref": ref,
            "sha": row[f"{end}_sha"] or "",
            "user": known or stand_ins.account(self.urls, owner),
            "repo": self._repository(full_name),
        }

    def _repository(self, full_name: str | None) -> dict[str, Any]:
        name = (full_name or "").lower()
        if name in self.repositories:
            return {**self.repositories[name]}
        base = self.repositories[self.repo["full_name"].lower()]
        return stand_ins.fork(self.urls, self.repo, base)

    def auto_merge(self, given: Mapping[str, Any] | None) -> AutoMerge | None:
        """Serialize the merge that happens once all requirements are met."""
        if given is None:
            return None
        return {
            "enabled_by": self.people.get(given["enabled_by"]) or stand_ins.account(self.urls),
            "merge_method": given["merge_method"],
            "commit_title": given["commit_title"] or "",
            "commit_message": given["commit_message"] or "",
        }
