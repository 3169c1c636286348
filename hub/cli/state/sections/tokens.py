"""The section `tokens`: the tokens of users and apps."""

from typing import Any, Literal, Self

from pydantic import Field, SecretStr, model_validator

from hub.api.apps.app_serializers import Level
from hub.cli.console import lookups
from hub.cli.state.base import Moment, SectionEntry
from hub.cli.state.changes import StateChange, outcome_of, secret
from store import Connection, Row, clock
from store.accounts import grants, sso, tokens
from store.apps import installation_tokens
from store.errors import Conflict


class TokenEntry(SectionEntry):
    """A token, identified by its value or else by its user, app and note.

    If it has no value, it needs a note, and gets a random value. A token of an app has the app's
    kind, or the kind `installation`. With `where_installed`, an integration's token of a user is
    only valid where the integration is installed. If the token exists, only `sso` can add
    organizations to it: other differences are errors.
    """

    user: str
    app: str | None = None
    fingerprint: str | None = None
    note: str | None = None
    kind: Literal["personal", "fine_grained", "oauth", "app_user", "installation"] = "personal"
    scopes: list[str] = Field(default_factory=list)
    permissions: dict[str, Level] = Field(default_factory=dict)
    where_installed: bool = False
    sso: list[str] = Field(default_factory=list)
    value: SecretStr | None = None
    expires_at: Moment | None = None

    @property
    def identity(self) -> str | None:
        if self.value is not None:
            return None
        return " ".join((self.user, self.app or "", self.note or ""))

    def name_in(self, db: Connection, parent: Row) -> str:
        return " ".join(part for part in (self.user, self.app, self.note) if part)

    @model_validator(mode="after")
    def _known_again(self) -> Self:
        if self.value is None and not self.note:
            raise ValueError("a token without a value needs a note, which identifies it")
        installed = self.kind == "installation"
        if self.app is not None and "kind" in self.model_fields_set and not installed:
            raise ValueError("an app's token has the app's kind, or the kind installation")
        if installed and self.app is None:
            raise ValueError("a token of an installation belongs to an app")
        if installed and (self.scopes or self.fingerprint):
            raise ValueError(
                "an installation's token has permissions, and no scopes or fingerprint"
            )
        if self.where_installed and (self.app is None or installed):
            raise ValueError("where_installed is for an app's token of a user")
        return self

    def ends(self) -> int | None:
        """Return the expiry in microseconds since the epoch, or None."""
        return None if self.expires_at is None else clock.from_datetime(self.expires_at)

    def find(self, db: Connection, parent: Row) -> Row | None:
        every = tokens.list_all(db)
        if self.value is not None:
            found = tokens.find(db, self.value.get_secret_value())
            return next((row for row in every if found and row["id"] == found["id"]), None)
        sought = (self.user.lower(), (self.app or "").lower(), self.note)
        return next((row for row in every if _names(row) == sought), None)

    def apply(self, db: Connection) -> StateChange:
        """Create the token, or add organizations with SSO to it.

        Raises Conflict if anything else of it would change.
        """
        owner = lookups.account(db, self.user)
        holder = None if self.app is None else lookups.app(db, self.app)
        known = self.find(db, {})
        if known is None:
            return self._create(db, owner, holder)
        if self._differs(known, owner, holder):
            raise Conflict("this token exists with other values; `tocsin token remove` it first")
        return self.change(db, {}, outcome_of(known, known, self._authorize(db, known["id"])))

    def _create(self, db: Connection, owner: Row, holder: Row | None) -> StateChange:
        value = self._made(db, owner, holder)
        made = tokens.find(db, value)
        if made is not None:
            self._authorize(db, made["id"])
        shown = None if self.value else value
        return StateChange(self.noun, self.name_in(db, {}), "created", shown)

    def _authorize(self, db: Connection, token_id: int) -> bool:
        """Authorize the token for its organizations with SSO. Return whether one was new."""
        found = [lookups.account(db, login) for login in self.sso]
        return sum(sso.authorize(db, token_id, organization["id"]) for organization in found) > 0

    def _made(self, db: Connection, owner: Row, holder: Row | None) -> str:
        given: dict[str, Any] = {
            "permissions": self.permissions,
            "note": self.note,
            "expires_at": self.ends(),
            "value": secret(self.value),
        }
        if holder is not None and self.kind == "installation":
            installed = lookups.installation(db, holder["name"], owner["login"])
            wanted = given.pop("permissions")
            return installation_tokens.create(db, installed, wanted=wanted, **given)[0]
        given |= {"scopes": self.scopes, "fingerprint": self.fingerprint}
        if holder is not None:
            if self.where_installed:
                lookups.check_installable(holder)
            given["where_installed"] = self.where_installed
            return grants.issue(db, holder, owner["id"], **given)[0]
        return tokens.create(db, owner["id"], kind=self.kind, **given)[0]

    def _differs(self, known: Row, owner: Row, holder: Row | None) -> bool:
        """Return whether the token would change. Keys that are left out are no difference."""
        values = {
            "app": None if holder is None else holder["name"],
            "kind": self.kind,
            "scopes": [*tokens.normalize(self.scopes)],
            "permissions": self._permissions(known),
            "where_installed": self.where_installed,
            "fingerprint": self.fingerprint,
            "expires_at": self._end(known),
        }
        wanted = {name: values[name] for name in values.keys() & self.model_fields_set}
        return {**known, "login": owner["login"], **wanted} != known

    def _permissions(self, known: Row) -> dict[str, Any]:
        """Return the permissions that the known token needs. By default, an app's token has all."""
        if known["app"] is not None and not self.permissions:
            return dict(known["permissions"])
        always = {"metadata": "read"} if known["kind"] == "installation" else {}
        return always | self.permissions

    def _end(self, known: Row) -> int | None:
        """Return the expiry that the known token needs. An installation's token has one anyway."""
        ends = self.ends()
        if ends is None and known["kind"] == "installation":
            ends = known["expires_at"]
        return ends


def _names(token: Row) -> tuple[str, str, str | None]:
    return token["login"].lower(), (token["app"] or "").lower(), token["note"]
