"""The parts of a state document: people, repositories, apps, tokens, sources, hooks."""

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
    """One of a user's email addresses. The first that a user has is the primary, until another
    one is said to be; `visibility` is the primary's.
    """

    email: str
    primary: bool = False
    verified: bool = True
    visibility: Literal["public", "private"] | None = None


Email = Annotated[AddressEntry, BeforeValidator(_address)]


class LicenseFileEntry(StateEntry):
    """A license file, of the default branch if no other is named. Which license it is is found
    out here, before anybody waits for the store.
    """

    name: str
    text: str
    branch: str | None = Field(None, min_length=1, max_length=255)
    _file: licenses.LicenseFile = PrivateAttr()

    @model_validator(mode="after")
    def _recognised(self) -> Self:
        try:
            self._file = licenses.LicenseFile(self.name, self.text.encode())
        except Invalid as error:
            raise ValueError(str(error)) from None
        return self

    @property
    def file(self) -> licenses.LicenseFile:
        """As the store takes it."""
        return self._file


class UserEntry(StateEntry):
    """`created_at` is the age of the account, which interaction limits ask for."""

    login: str
    name: str | None = None
    email: str | None = None
    site_admin: bool = False
    password: SecretStr | None = None
    one_time_secret: SecretStr | None = Field(None, description="base 32, of 16 bytes at least")
    emails: list[Email] = Field(default_factory=list)
    created_at: Moment | None = None

    @property
    def known_by(self) -> tuple[str, str] | None:
        return "login", self.login.lower()


class OrganizationEntry(StateEntry):
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
    """`branches` and `tags` give their commits."""

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
    """Known again by its name. A secret that is not given is made up where the app is made."""

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
    """Known again by its value, or where that is made up here by its user, app and note.

    One of an app has the kind that the app says, or is that of an installation of it.
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
            raise ValueError("a token without a value needs a note, by which it is known again")
        installed = self.kind == "installation"
        if self.app is not None and "kind" in self.model_fields_set and not installed:
            raise ValueError("an app's token is of the kind that the app says")
        if installed and self.app is not None and (self.scopes or self.fingerprint):
            raise ValueError("an installation's token has permissions alone")
        return self

    def ends(self) -> int | None:
        """When it expires, in microseconds."""
        return None if self.expires_at is None else microseconds(self.expires_at)


class SourceEntry(StateEntry):
    name: str
    secret: SecretStr
    owner: str | None = None

    @property
    def known_by(self) -> tuple[str, str] | None:
        return "source", self.name


class HookEntry(StateEntry):
    """Known again by its repository and URL."""

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
