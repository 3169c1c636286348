"""The entries for people, repositories, apps, tokens, sources and hooks."""

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, PrivateAttr, SecretStr, model_validator

from hub.cli.state.base import FullName, Moment, StateEntry, microseconds
from store.delivery.hook_options import DeliveryOptions
from store.errors import Invalid
from store.repositories import licenses, refs

Role = Literal["read", "triage", "write", "maintain", "admin"]
Level = Literal["read", "write", "admin"]
Topic = Annotated[str, Field(pattern="^[a-z0-9][a-z0-9-]{0,49}$")]
Sha = Annotated[str, Field(pattern=f"^({refs.SHA.pattern})$")]


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


Email = Annotated[AddressEntry, BeforeValidator(_address)]


class LicenseFileEntry(StateEntry):
    """A license file of a branch, by default of the default branch. Its text says which license it
    is.
    """

    name: str
    text: str
    branch: str | None = Field(None, min_length=1, max_length=255)
    _file: licenses.LicenseFile = PrivateAttr()

    @model_validator(mode="after")
    def _recognised(self) -> Self:
        """Recognize the license here, because that is slow and within the transaction others would
        wait.
        """
        try:
            self._file = licenses.LicenseFile(self.name, self.text.encode())
        except Invalid as error:
            raise ValueError(str(error)) from None
        return self

    @property
    def file(self) -> licenses.LicenseFile:
        """Return the file with its recognized license."""
        return self._file


class UserEntry(StateEntry):
    """A user, identified by its login. Interaction limits depend on the account's age,
    `created_at`.
    """

    login: str
    name: str | None = None
    email: str | None = None
    site_admin: bool = False
    password: SecretStr | None = None
    one_time_secret: SecretStr | None = Field(None, description="base 32, at least 16 bytes")
    emails: list[Email] = Field(default_factory=list)
    created_at: Moment | None = None

    @property
    def known_by(self) -> tuple[str, str] | None:
        return "login", self.login.lower()


class OrganizationEntry(StateEntry):
    """An organization, identified by its login. `members` maps logins to roles."""

    login: str
    name: str | None = None
    email: str | None = None
    description: str | None = Field(None, max_length=1_000)
    members: dict[str, Literal["member", "admin"]] = Field(default_factory=dict)
    sso: bool = False
    created_at: Moment | None = None

    @property
    def known_by(self) -> tuple[str, str] | None:
        return "login", self.login.lower()


class RepositoryEntry(StateEntry):
    """A repository, identified by its name. `branches` and `tags` map names to commits."""

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
    branches: dict[str, Sha] = Field(default_factory=dict)
    tags: dict[str, Sha] = Field(default_factory=dict)
    license_file: LicenseFileEntry | None = None
    created_at: Moment | None = None

    @property
    def known_by(self) -> tuple[str, str] | None:
        return "repository", self.name.lower()


class AppEntry(StateEntry):
    """An app, identified by its name. If it is new and has no `client_secret`, it gets a random
    one.
    """

    name: str
    owner: str
    url: str
    kind: Literal["oauth", "integration"] = "oauth"
    description: str | None = None
    permissions: dict[str, Level] = Field(default_factory=dict)
    client_id: str | None = None
    client_secret: SecretStr | None = None

    @property
    def known_by(self) -> tuple[str, str] | None:
        return "app", self.name.lower()


class TokenEntry(StateEntry):
    """A token, identified by its value or else by its user, app and note.

    If it has no value, it gets a random one. A token of an app has the app's kind, or the kind
    `installation`.
    """

    user: str
    app: str | None = None
    fingerprint: str | None = None
    note: str | None = None
    kind: Literal["personal", "fine_grained", "oauth", "app_user", "installation"] = "personal"
    scopes: list[str] = Field(default_factory=list)
    permissions: dict[str, Level] = Field(default_factory=dict)
    sso: list[str] = Field(default_factory=list)
    value: SecretStr | None = None
    expires_at: Moment | None = None

    @property
    def known_by(self) -> tuple[str, str] | None:
        return (
            None
            if self.value is not None
            else ("token", " ".join((self.user, self.app or "", self.note or "")))
        )

    @model_validator(mode="after")
    def _known_again(self) -> Self:
        if self.value is None and not self.note:
            raise ValueError("a token without a value needs a note, which identifies it")
        installed = self.kind == "installation"
        if self.app is not None and "kind" in self.model_fields_set and not installed:
            raise ValueError("an app's token has the app's kind, or the kind installation")
        if installed and self.app is not None and (self.scopes or self.fingerprint):
            raise ValueError(
                "an installation's token has permissions, and no scopes or fingerprint"
            )
        return self

    def ends(self) -> int | None:
        """Return the expiry in microseconds since the epoch, or None."""
        return None if self.expires_at is None else microseconds(self.expires_at)


class SourceEntry(StateEntry):
    """A source of signed events, identified by its name."""

    name: str
    secret: SecretStr
    owner: str | None = None

    @property
    def known_by(self) -> tuple[str, str] | None:
        return "source", self.name


class HookEntry(StateEntry):
    """A hook, identified by its repository and URL."""

    repository: FullName
    url: str
    events: list[str] = Field(default_factory=lambda: ["push"])
    content_type: Literal["json", "form"] = "form"
    secret: SecretStr | None = None
    insecure_ssl: bool = False
    active: bool = True
    delivery: DeliveryOptions = DeliveryOptions()

    @property
    def known_by(self) -> tuple[str, str] | None:
        return "hook", f"{self.repository.lower()} {self.url}"
