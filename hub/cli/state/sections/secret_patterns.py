"""The sections `secret_patterns`, of organizations, and `enterprise_secret_patterns`."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from hub.cli.console.options import organization
from hub.cli.state.base import StateEntry
from hub.cli.state.changes import Outcome, StateChange
from store import Connection
from store.enterprises import enterprises
from store.errors import Missing
from store.secret_scanning import secret_patterns

Name = Annotated[str, Field(min_length=1, max_length=255, pattern="^[^\0]*$")]
Count = Annotated[int, Field(ge=0, lt=2**53)]
Setting = Literal["not-set", "disabled", "enabled"]


class SecretPatternEntry(StateEntry):
    """A pattern of secrets, identified by its organization and token type. It is a provider's
    pattern, or a `custom` one of the organization. A new one needs a `display_name`.
    """

    organization: str
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

    @property
    def known_by(self) -> tuple[str, str] | None:
        return "secret pattern", f"{self.organization.lower()} {self.token_type}"

    @model_validator(mode="after")
    def _set(self) -> Self:
        if self.custom and "setting" in self.model_fields_set and self.setting == "not-set":
            raise ValueError("a custom pattern is disabled or enabled")
        return self


class EnterpriseSecretPatternEntry(StateEntry):
    """An enterprise's setting for a provider's pattern, identified by both."""

    enterprise: str
    token_type: Name
    setting: Setting

    @property
    def known_by(self) -> tuple[str, str] | None:
        return "enterprise secret pattern", f"{self.enterprise.lower()} {self.token_type}"


def secret_pattern(db: Connection, wanted: SecretPatternEntry) -> StateChange:
    """Create or update a pattern."""
    org = organization(db, wanted.organization)
    payload = wanted.given(*SecretPatternEntry.model_fields)
    given = {name: payload[name] for name in payload if payload[name] is not None}
    del given["organization"]
    if "custom" in given:
        given["custom"] = int(given["custom"])
    known = {row["token_type"] for row in secret_patterns.list_all(db, org["id"])}
    changed = secret_patterns.put_reported(db, org["id"], given)
    name = f"{org['login']} {wanted.token_type}"
    return StateChange("secret pattern", name, _outcome(wanted.token_type in known, changed))


def enterprise_secret_pattern(db: Connection, wanted: EnterpriseSecretPatternEntry) -> StateChange:
    """Set an enterprise's setting for a pattern. Raises Missing for an unknown enterprise."""
    enterprise = enterprises.by_slug(db, wanted.enterprise)
    if enterprise is None:
        raise Missing(f"there is no enterprise {wanted.enterprise!r}")
    before = secret_patterns.enterprise_settings(db, enterprise["id"]).get(wanted.token_type)
    if before != wanted.setting:
        secret_patterns.put_enterprise_setting(
            db, enterprise["id"], wanted.token_type, wanted.setting
        )
    name = f"{enterprise['slug']} {wanted.token_type}"
    changed = before != wanted.setting
    return StateChange("enterprise secret pattern", name, _outcome(before is not None, changed))


def _outcome(there: bool, changed: bool) -> Outcome:
    if not there:
        return "created"
    return "updated" if changed else "unchanged"
