"""The document that `tocsin load` takes: its shape, and how it is read."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import (
    BeforeValidator,
    Field,
    PrivateAttr,
    SecretStr,
    ValidationError,
    model_validator,
)

from hub.cli.load_comments import CommitComment
from hub.cli.part import FullName, Moment, Part
from hub.cli.strict_yaml import Strict
from store import licenses
from store.clock import SECOND
from store.errors import Invalid
from store.options import DeliveryOptions

# Bytes of a document. Reading YAML takes about a second for each of them in millions.
LARGEST = 4_000_000

Role = Literal["read", "triage", "write", "maintain", "admin"]
Level = Literal["read", "write", "admin"]


def _address(given: object) -> object:
    return {"email": given} if isinstance(given, str) else given


class Address(Part):
    """One of a user's email addresses. The first that a user has is the primary, until another
    one is said to be; `visibility` is the primary's.
    """

    email: str
    primary: bool = False
    verified: bool = True
    visibility: Literal["public", "private"] | None = None


Email = Annotated[Address, BeforeValidator(_address)]


class LicenseFile(Part):
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


class User(Part):
    login: str
    name: str | None = None
    email: str | None = None
    site_admin: bool = False
    password: SecretStr | None = None
    one_time_secret: SecretStr | None = Field(None, description="base 32, of 16 bytes at least")
    emails: list[Email] = Field(default_factory=list)


class Organization(Part):
    login: str
    name: str | None = None
    email: str | None = None
    members: dict[str, Literal["member", "admin"]] = Field(default_factory=dict)
    sso: bool = False


class Repository(Part):
    name: FullName
    private: bool = False
    description: str | None = None
    collaborators: dict[str, Role] = Field(default_factory=dict)
    watchers: dict[str, Literal["watching", "ignoring"]] = Field(default_factory=dict)
    stars: int = Field(0, ge=0)
    license_file: LicenseFile | None = None


class App(Part):
    """Known again by its name. A secret that is not given is made up where the app is made."""

    name: str
    owner: str
    url: str
    kind: Literal["oauth", "integration"] = "oauth"
    description: str | None = None
    permissions: dict[str, Level] = Field(default_factory=dict)
    client_id: str | None = None
    client_secret: SecretStr | None = None


class Token(Part):
    """Known again by its value, or where that is made up here by its user, app and note.

    One of an app has the kind that the app says.
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

    @model_validator(mode="after")
    def _known_again(self) -> Self:
        if self.value is None and not self.note:
            raise ValueError("a token without a value needs a note, by which it is known again")
        if self.app is not None and "kind" in self.model_fields_set:
            raise ValueError("an app's token is of the kind that the app says")
        return self

    def ends(self) -> int | None:
        """When it expires, in microseconds."""
        if self.expires_at is None:
            return None
        return round(self.expires_at.timestamp() * SECOND)


class Source(Part):
    name: str
    secret: SecretStr
    owner: str | None = None


class Hook(Part):
    """Known again by its repository and URL."""

    repository: FullName
    url: str
    events: list[str] = Field(default_factory=lambda: ["push"])
    content_type: Literal["json", "form"] = "form"
    secret: SecretStr | None = None
    insecure_ssl: bool = False
    active: bool = True
    delivery: DeliveryOptions = DeliveryOptions()


class State(Part):
    """All of it. What the document does not mention stays as it is."""

    users: list[User] = Field(default_factory=list)
    organizations: list[Organization] = Field(default_factory=list)
    repositories: list[Repository] = Field(default_factory=list)
    apps: list[App] = Field(default_factory=list)
    tokens: list[Token] = Field(default_factory=list)
    sources: list[Source] = Field(default_factory=list)
    hooks: list[Hook] = Field(default_factory=list)
    commit_comments: list[CommitComment] = Field(default_factory=list)

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        users, groups = self.users, self.organizations
        _once("login", [*(u.login.lower() for u in users), *(g.login.lower() for g in groups)])
        _once("repository", [each.name.lower() for each in self.repositories])
        _once("source", [each.name for each in self.sources])
        _once("hook", [f"{each.repository.lower()} {each.url}" for each in self.hooks])
        told = self.commit_comments
        _once("commit comment", [f"{each.repository.lower()} {each.id}" for each in told])
        noted = [each for each in self.tokens if each.value is None]
        _once("app", [each.name.lower() for each in self.apps])
        _once("token", [" ".join((each.user, each.app or "", each.note or "")) for each in noted])
        return self


def _once(what: str, names: Iterable[str]) -> None:
    for name, times in Counter(names).items():
        if times > 1:
            raise ValueError(f"the {what} {name!r} is there {times} times")


def read(text: str) -> State:
    """The document in `text`, JSON or YAML. Invalid names each place that is wrong."""
    if len(text) > LARGEST:
        raise Invalid(f"the document is larger than {LARGEST:,} characters")
    try:
        data = _json(text) if text.lstrip().startswith("{") else Strict(text).get_single_data()
    except (ValueError, yaml.YAMLError) as error:
        raise Invalid(f"the document cannot be read: {error}") from None
    except RecursionError:
        raise Invalid("the document is nested too deeply") from None
    try:
        return State.model_validate({} if data is None else data)
    except ValidationError as error:
        raise Invalid("\n".join(_explained(error))) from None


def _explained(error: ValidationError) -> Iterator[str]:
    for problem in error.errors(include_input=False):
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}"
                        for part in problem["loc"]).removeprefix(".")  # fmt: skip
        message = problem["msg"].removeprefix("Value error, ")
        if problem["type"] == "extra_forbidden":
            message = "there is no such key"
        yield f"{place or 'document'}: {message}"


def _json(text: str) -> Any:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        _once("key", [key for key, _ in pairs])
        return dict(pairs)

    return json.loads(text, object_pairs_hook=once)
