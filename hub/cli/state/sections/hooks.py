"""The sections `sources` and `hooks`."""

from typing import Any, Literal, Self

from pydantic import Field, PrivateAttr, SecretStr, model_validator

from hub.cli.console import lookups
from hub.cli.console.lookups import account
from hub.cli.state.base import FullName, SectionEntry, StateEntry
from hub.cli.state.changes import secret
from store import Connection, Row
from store.delivery import sources
from store.errors import Conflict
from store.hooks import hooks, option_secrets, signing_keys
from store.hooks.hook_options import DeliveryOptions
from store.hooks.hook_targets import SYSTEM, HookTarget, organization, repository


class SourceEntry(SectionEntry):
    """A source of signed events, identified by its name. Its owner cannot change."""

    identified_by = case_sensitive = ("name",)

    name: str
    secret: SecretStr
    owner: str | None = None

    def find(self, db: Connection, parent: Row) -> Row | None:
        row = next((row for row in sources.secrets(db) if row["name"] == self.name), None)
        return row and {**row, "secret": db.vault.open(row["secret"])}

    def write(self, db: Connection, parent: Row, before: Row | None) -> None:
        """Create the source, or change its secret. Raises Conflict if its owner would change."""
        given = self.secret.get_secret_value()
        owner_id = None if self.owner is None else account(db, self.owner)["id"]
        if before is None:
            sources.create(db, self.name, given, owner_id=owner_id)
            return
        if "owner" in self.model_fields_set and before["owner_id"] != owner_id:
            raise Conflict(f"the source {self.name!r} has another owner; remove it first")
        if before["secret"] != given:
            sources.set_secret(db, before["id"], given)


class HookEntry(SectionEntry):
    """A hook, identified by its URL and its target: a repository or an organization.

    Without either, it is a hook of the whole installation. `events` and `delivery` replace the
    present ones. Without `events`, a new hook gets `push`.
    """

    identified_by = ("target", "url")
    case_sensitive = ("url",)

    repository: FullName | None = None
    organization: str | None = None
    url: str
    events: list[str] = Field(default_factory=lambda: ["push"])
    content_type: Literal["json", "form"] = "form"
    secret: SecretStr | None = None
    signing_key: SecretStr | None = None
    insecure_ssl: bool = False
    active: bool = True
    delivery: DeliveryOptions = DeliveryOptions()
    _most: int = PrivateAttr(0)

    def limit(self, hooks_per_event: int) -> None:
        """Limit the repository's hooks for the same event. 0 is no limit."""
        self._most = hooks_per_event

    @model_validator(mode="after")
    def _one_target(self) -> Self:
        if self.repository is not None and self.organization is not None:
            raise ValueError("a hook has a repository or an organization, and not both")
        return self

    @property
    def target(self) -> str:
        return self.repository or self.organization or "whole installation"

    def _target(self, db: Connection) -> HookTarget:
        if self.repository is not None:
            return repository(lookups.repository_named(db, self.repository)["id"])
        if self.organization is not None:
            return organization(lookups.organization(db, self.organization)["id"])
        return SYSTEM

    def find(self, db: Connection, parent: Row) -> Row | None:
        row = hooks.by_url(db, self._target(db), self.url)
        return row and with_secrets(db, row)

    def write(self, db: Connection, parent: Row, before: Row | None) -> None:
        fields = self._columns()
        if before is None:
            target = self._target(db)
            made = hooks.create(db, target, url=self.url, most=self._most, **fields)
            self._import_key(db, made, overlap=0)
            return
        changes = changed_columns(self, fields, before)
        if changes:
            before = hooks.update(db, before, most=self._most, **changes)
        self._import_key(db, before, overlap=signing_keys.OVERLAP)

    def _import_key(self, db: Connection, hook: Row, overlap: int) -> None:
        """Give the hook the document's signing key, unless it has it."""
        key = secret(self.signing_key)
        if key is not None:
            signing_keys.rotate(db, hook, key, overlap)

    def _columns(self) -> dict[str, Any]:
        return {
            **self.model_dump(include={"events", "content_type", "insecure_ssl", "active"}),
            "secret": secret(self.secret),
            "options": self.delivery.model_dump(exclude_none=True),
        }


def with_secrets(db: Connection, hook: Row) -> Row:
    """Return a hook with its secret and its options in plain text."""
    revealed = {"secret": hooks.secret_of(db, hook), "options": option_secrets.revealed(db, hook)}
    return hook | revealed


def changed_columns(entry: StateEntry, columns: Row, before: Row) -> Row:
    """Return the columns that the document has, and that differ from the hook's present ones."""
    given = {"options" if name == "delivery" else name for name in entry.model_fields_set}
    return {name: columns[name] for name in given & columns.keys() if columns[name] != before[name]}
