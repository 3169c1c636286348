"""The sections `secret_patterns`, of organizations, and `enterprise_secret_patterns`."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from hub.cli.state.base import EnterprisePart, OrganizationPart, characters
from store import Connection, Row
from store.secret_scanning import secret_patterns

Name = Annotated[str, characters(1, 255)]
Count = Annotated[int, Field(ge=0, lt=2**53)]
Setting = Literal["not-set", "disabled", "enabled"]


class SecretPatternEntry(OrganizationPart):
    """A pattern of secrets, identified by its organization and token type. It is a provider's
    pattern, or a `custom` one of the organization. A new one needs a `display_name`.
    """

    identified_by = ("organization", "token_type")
    case_sensitive = ("token_type",)

    token_type: Name
    custom: bool = False
    display_name: Name | None = None
    slug: Name | None = None
    default_setting: Literal["disabled", "enabled"] = "disabled"
    setting: Setting = "not-set"
    alerts: Count = 0
    false_positives: Count = 0
    blocks: Count = 0
    bypasses: Count = 0

    @model_validator(mode="after")
    def _set(self) -> Self:
        if self.custom and "setting" in self.model_fields_set and self.setting == "not-set":
            raise ValueError("a custom pattern is disabled or enabled")
        return self

    def find(self, db: Connection, parent: Row) -> Row | None:
        rows = secret_patterns.list_all(db, parent["id"])
        return next((row for row in rows if row["token_type"] == self.token_type), None)

    def write(self, db: Connection, parent: Row, before: object) -> None:
        found = self.model_dump(exclude={"organization"}, exclude_unset=True, exclude_none=True)
        if "custom" in found:
            found["custom"] = int(self.custom)
        secret_patterns.put_reported(db, parent["id"], found)


class EnterpriseSecretPatternEntry(EnterprisePart):
    """An enterprise's setting for a provider's pattern, identified by both."""

    identified_by = ("enterprise", "token_type")
    case_sensitive = ("token_type",)

    token_type: Name
    setting: Setting

    def find(self, db: Connection, parent: Row) -> str | None:
        return secret_patterns.enterprise_settings(db, parent["id"]).get(self.token_type)

    def write(self, db: Connection, parent: Row, before: str | None) -> None:
        if self.setting != before:
            secret_patterns.put_enterprise_setting(db, parent["id"], self.token_type, self.setting)
