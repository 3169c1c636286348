"""The section `repositories`, with collaborators, watchers, refs and license files."""

from typing import Annotated, Literal, Self

from pydantic import Field, PrivateAttr, model_validator

from hub.cli.console.lookups import account
from hub.cli.state import ages
from hub.cli.state.base import FullName, Moment, SectionEntry, Sha, StateEntry
from store import Connection, Row
from store.errors import Invalid
from store.projection import projection_table, repository_projection
from store.repositories import (
    branch_protection,
    licenses,
    membership_dump,
    refs,
    repositories,
    repository_details,
    watching,
)
from store.repositories.repository_details import FEATURES

Role = Literal["read", "triage", "write", "maintain", "admin"]
Topic = Annotated[str, Field(pattern="^[a-z0-9][a-z0-9-]{0,49}$")]
Pattern = Annotated[str, Field(min_length=1, max_length=255)]
# The fields that a platform's payload of a repository has.
PAYLOAD = (
    "forks",
    "size",
    "default_branch",
    "homepage",
    "language",
    "topics",
    "fork",
    "archived",
    "mirror_url",
    *FEATURES,
)


class LicenseFileEntry(StateEntry):
    """A license file of a branch, by default of the default branch. Its text says which license it
    is.
    """

    name: str
    text: str
    branch: str | None = Field(None, min_length=1, max_length=255)
    _file: licenses.LicenseFile = PrivateAttr()

    @model_validator(mode="after")
    def _recognized(self) -> Self:
        """Recognize the license here: in the transaction, other writers would wait for that."""
        try:
            self._file = licenses.LicenseFile(self.name, self.text.encode())
        except Invalid as error:
            raise ValueError(str(error)) from None
        return self

    def put(self, db: Connection, repo: Row) -> bool:
        """Store the file. Return whether that changes anything."""
        return licenses.put(db, repo["id"], self.branch or repo["default_branch"], self._file)


class RepositoryEntry(SectionEntry):
    """A repository, identified by its name. `branches` and `tags` map names to commits.
    `protected_branches` are names or patterns, such as `release/*`. `topics` replace the present
    ones; other lists and maps only add or change members.
    """

    identified_by = ("name",)

    name: FullName
    private: bool = False
    description: str | None = None
    collaborators: dict[str, Role] = Field(default_factory=dict)
    watchers: dict[str, Literal["watching", "ignoring"]] = Field(default_factory=dict)
    stars: int = Field(0, ge=0)
    forks: int = Field(0, ge=0)
    size: int = Field(0, ge=0, description="in kB")
    default_branch: str = Field("main", min_length=1, max_length=255)
    homepage: str | None = Field(None, max_length=1_000)
    language: str | None = Field(None, max_length=100)
    topics: list[Topic] = Field(default_factory=list, max_length=100)
    fork: bool = False
    archived: bool = False
    has_issues: bool = True
    has_projects: bool = False
    has_wiki: bool = False
    has_pages: bool = False
    has_discussions: bool = False
    is_template: bool = False
    disabled: bool = False
    mirror_url: str | None = Field(None, max_length=1_000)
    branches: dict[str, Sha] = Field(default_factory=dict)
    tags: dict[str, Sha] = Field(default_factory=dict)
    protected_branches: list[Pattern] = Field(default_factory=list)
    license_file: LicenseFileEntry | None = None
    created_at: Moment | None = None

    def find(self, db: Connection, parent: Row) -> Row | None:
        row = repositories.find(db, *self.name.split("/"))
        return row and {
            **row,
            "details": repository_details.details(db, [row["id"]])[row["id"]],
            "collaborators": membership_dump.collaborators(db, row["id"]),
            "watchers": watching.settings(db, row["id"]),
        }

    def write(self, db: Connection, parent: Row, before: Row | None) -> bool:
        row = self._put(db, before)
        for login, role in self.collaborators.items():
            repositories.grant(db, row["id"], account(db, login)["id"], role)
        self._put_watchers(db, row)
        self._project(db, row)
        ages.give(db, "repository", row, self.created_at)
        changed = [refs.put(db, row["id"], name, sha) for name, sha in self._refs()]
        changed += [branch_protection.put(db, row["id"], one) for one in self.protected_branches]
        if "stars" in self.model_fields_set:
            changed.append(watching.set_stars(db, row["id"], self.stars))
        if self.license_file is not None:
            # The row has the default branch of before.
            changed.append(self.license_file.put(db, row | self.given("default_branch")))
        return any(changed)

    def _put(self, db: Connection, before: Row | None) -> Row:
        if before is None:
            owner, name = self.name.split("/")
            owner_id = account(db, owner)["id"]
            return repositories.create(
                db, owner_id, name, private=self.private, description=self.description
            )
        after = before | self.given("private", "description")
        if after != before:
            repositories.update(
                db, before["id"], private=bool(after["private"]), description=after["description"]
            )
        return before

    def _put_watchers(self, db: Connection, repo: Row) -> None:
        before = watching.settings(db, repo["id"])
        for login, how in self.watchers.items():
            if before.get(login) != how:
                watching.put(
                    db,
                    repo["id"],
                    account(db, login)["id"],
                    subscribed=how == "watching",
                    ignored=how == "ignoring",
                )

    def _project(self, db: Connection, repo: Row) -> None:
        """Set the fields that platforms' payloads have."""
        payload = self.given(*PAYLOAD)
        if "forks" in payload:
            payload["forks_count"] = payload.pop("forks")
        repository_projection.put(db, repo, payload, projection_table.projected_events(db))

    def _refs(self) -> list[tuple[str, str]]:
        heads = [(f"refs/heads/{name}", sha) for name, sha in self.branches.items()]
        return heads + [(f"refs/tags/{name}", sha) for name, sha in self.tags.items()]
