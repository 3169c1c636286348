"""The sections `sources` and `hooks`."""

from typing import Any, Literal

from pydantic import Field, PrivateAttr, SecretStr

from hub.cli.console.options import account
from hub.cli.state.base import RepositoryPart, SectionEntry
from hub.cli.state.changes import secret
from store import Connection, Row
from store.delivery import sources
from store.errors import Conflict
from store.hooks import hooks
from store.hooks.hook_options import DeliveryOptions


class SourceEntry(SectionEntry):
    """A source of signed events, identified by its name."""

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


class HookEntry(RepositoryPart):
    """A hook, identified by its repository and URL."""

    identified_by = ("repository", "url")
    case_sensitive = ("url",)

    url: str
    events: list[str] = Field(default_factory=lambda: ["push"])
    content_type: Literal["json", "form"] = "form"
    secret: SecretStr | None = None
    insecure_ssl: bool = False
    active: bool = True
    delivery: DeliveryOptions = DeliveryOptions()
    _most: int = PrivateAttr(0)

    def limit(self, hooks_per_event: int) -> None:
        """Limit the repository's hooks for the same event. 0 is no limit."""
        self._most = hooks_per_event

    def find(self, db: Connection, parent: Row) -> Row | None:
        row = hooks.by_url(db, parent["id"], self.url)
        return row and {**row, "secret": hooks.secret_of(db, row)}

    def write(self, db: Connection, parent: Row, before: Row | None) -> None:
        fields = self._columns()
        if before is None:
            hooks.create(db, parent["id"], url=self.url, most=self._most, **fields)
            return
        given = {"options" if name == "delivery" else name for name in self.model_fields_set}
        changes = {name: fields[name] for name in given & fields.keys()}
        changes = {name: value for name, value in changes.items() if value != before[name]}
        if changes:
            hooks.update(db, before, most=self._most, **changes)

    def _columns(self) -> dict[str, Any]:
        return {
            **self.model_dump(include={"events", "content_type", "insecure_ssl", "active"}),
            "secret": secret(self.secret),
            "options": self.delivery.model_dump(exclude_none=True),
        }
