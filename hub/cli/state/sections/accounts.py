"""The sections `users` and `organizations`."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, PrivateAttr, SecretStr

from hub.cli.console.lookups import account
from hub.cli.console.options import ISSUER
from hub.cli.state import ages
from hub.cli.state.base import Moment, SectionEntry, StateEntry
from hub.cli.state.changes import secret
from store import Connection, Row, Store
from store.accounts import accounts, emails, memberships, sso, totp
from store.assistant import membership_seats
from store.errors import Conflict, Invalid
from store.repositories import membership_dump


def _address(given: object) -> object:
    return {"email": given} if isinstance(given, str) else given


class AddressEntry(StateEntry):
    """An email address of a user. The first address is the primary one, unless another one has
    `primary`. `visibility` is for the primary address only.
    """

    email: str
    primary: bool = False
    verified: bool = True
    visibility: Literal["public", "private"] | None = None

    def put(self, db: Connection, account_id: int) -> None:
        """Add the address, or update it. Its visibility stays."""
        known = emails.of(db, account_id, [self.email])
        if not known:
            known = emails.add(db, account_id, [self.email], verified=self.verified)
        elif "verified" in self.model_fields_set:
            emails.verify(db, known[0]["id"], self.verified)
        if self.primary:
            emails.make_primary(db, known[0])

    def put_visibility(self, db: Connection, account_id: int) -> None:
        """Set the visibility, if there is one. Raises Invalid unless the address is primary."""
        if self.visibility is None:
            return
        (row,) = emails.of(db, account_id, [self.email])
        if not row["is_primary"]:
            raise Invalid(f"{self.email!r} has no visibility: it is not the primary address")
        emails.set_visibility(db, account_id, self.visibility)


Email = Annotated[AddressEntry, BeforeValidator(_address)]


class AccountEntry(SectionEntry):
    """A user or an organization, identified by its login."""

    identified_by = ("login",)

    login: str
    name: str | None = None
    email: str | None = None

    @property
    def known_by(self) -> tuple[str, str]:
        return "login", self.login.lower()

    def find(self, db: Connection, parent: Row) -> Row | None:
        """Return the account, or None if there is none or if only events have mentioned it."""
        row = accounts.by_login(db, self.login)
        return None if row is None or row["heard_of"] else row

    def put(self, db: Connection, before: Row | None) -> Row:
        """Create the account, or change its name and email. Return its row.

        Raises Conflict for an account of another kind.
        """
        kind = self.noun.capitalize()
        if before is None:
            return accounts.create(db, self.login, kind=kind, name=self.name, email=self.email)
        if before["kind"] != kind:
            raise Conflict(f"{self.login!r} is known as {before['kind']}, not {kind}")
        after = before | self.given("name", "email")
        if after != before:
            accounts.update(db, before["id"], name=after["name"], email=after["email"])
        return before


class UserEntry(AccountEntry):
    """A user, identified by its login. Interaction limits depend on the account's age,
    `created_at`.
    """

    site_admin: bool = False
    password: SecretStr | None = None
    one_time_secret: SecretStr | None = Field(None, description="base 32, at least 16 bytes")
    emails: list[Email] = Field(default_factory=list)
    created_at: Moment | None = None
    _new_hash: str | None = PrivateAttr(None)

    def find(self, db: Connection, parent: Row) -> Row | None:
        row = super().find(db, parent)
        return row and {**row, "addresses": emails.page(db, row["id"], limit=emails.MOST, offset=0)}

    def write(self, db: Connection, parent: Row, before: Row | None) -> bool:
        """Create or update the user. Call `hash_password` before: `write` sets the hash from it."""
        row = self.put(db, before)
        if self.given_or("site_admin", row["site_admin"]) != row["site_admin"]:
            accounts.set_site_admin(db, row["id"], self.site_admin)
        for each in self.emails:
            each.put(db, row["id"])
        for each in self.emails:
            each.put_visibility(db, row["id"])
        ages.give(db, "account", row, self.created_at)
        return self._log_in(db, row)

    def _log_in(self, db: Connection, row: Row) -> bool:
        """Set the password and the one-time passwords. Return whether that changes anything."""
        if self._new_hash is not None:
            accounts.set_password(db, row["id"], self._new_hash)
        shared = secret(self.one_time_secret)
        if shared is None or totp.is_set_up(db, row["id"], shared):
            return self._new_hash is not None
        totp.set_up(db, row["id"], login=row["login"], issuer=ISSUER, secret=shared)
        return True

    def hash_password(self, store: Store) -> None:
        """Hash the password if it is new.

        Do that before the transaction: it is slow, and other writers would wait for it.
        """
        given = secret(self.password)
        if given is None:
            return
        stored = store.read_sync(self._stored_password)
        if stored is None or not accounts.password_matches(given, stored):
            self._new_hash = accounts.hash_password(given)

    def _stored_password(self, db: Connection) -> str | None:
        row = accounts.by_login(db, self.login)
        return None if row is None else accounts.stored_password(db, row["id"])


class OrganizationEntry(AccountEntry):
    """An organization, identified by its login. `members` maps logins to roles; other members stay.
    Everybody may see the membership of `public_members`.
    """

    description: str | None = Field(None, max_length=1_000)
    members: dict[str, Literal["member", "admin"]] = Field(default_factory=dict)
    public_members: list[str] = Field(default_factory=list)
    sso: bool = False
    created_at: Moment | None = None

    def find(self, db: Connection, parent: Row) -> Row | None:
        row = super().find(db, parent)
        return row and {
            **row,
            "members": membership_dump.members(db, row["id"]),
            "sso": sso.enforced(db, row["id"]),
        }

    def write(self, db: Connection, parent: Row, before: Row | None) -> bool:
        """Create or update the organization and its members."""
        row = self.put(db, before)
        # An administrator may only become a member if there is another one.
        for login, role in sorted(self.members.items(), key=lambda one: one[1] != "admin"):
            membership_seats.join(db, row["id"], account(db, login)["id"], role)
        shown = [
            memberships.publicize(db, row["id"], self._member_id(db, row, login), True)
            for login in self.public_members
        ]
        if "description" in self.model_fields_set:
            accounts.describe(db, row["id"], self.description)
        if "sso" in self.model_fields_set and self.sso != sso.enforced(db, row["id"]):
            sso.enforce(db, row["id"], self.sso)
        ages.give(db, "account", row, self.created_at)
        return any(shown)

    @staticmethod
    def _member_id(db: Connection, org: Row, login: str) -> int:
        """Return the account id of a member. Raises Invalid for everybody else."""
        found: int = account(db, login)["id"]
        if accounts.organization_role(db, org["id"], found) is None:
            raise Invalid(f"{login!r} is in public_members, but is no member of {org['login']}")
        return found
