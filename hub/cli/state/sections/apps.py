"""The sections `apps` and `installations`."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, PrivateAttr, SecretStr

from hub.api.apps import installation_changes
from hub.api.apps.app_serializers import Level
from hub.cli.console import lookups
from hub.cli.service.configuration import Settings
from hub.cli.state.base import SectionEntry, StateEntry
from hub.cli.state.changes import StateChange, secret
from hub.cli.state.sections.hooks import changed_columns, with_secrets
from hub.cli.traffic import api_context
from hub.rest.context import Context
from store import Connection, Row
from store.accounts import apps
from store.apps import app_hooks, app_keys, installations
from store.errors import Conflict
from store.hooks import hooks
from store.hooks.event_names import PLATFORM_EVENTS, WILDCARD
from store.hooks.hook_options import DeliveryOptions


def _event_name(name: str) -> str:
    if name not in PLATFORM_EVENTS | {WILDCARD}:
        raise ValueError(f"{name!r} is not the name of an event")
    return name


EventName = Annotated[str, AfterValidator(_event_name)]


class AppHookEntry(StateEntry):
    """The hook of an app, which gets the app's events. `delivery` replaces the present one."""

    url: str
    content_type: Literal["json", "form"] = "json"
    secret: SecretStr | None = None
    insecure_ssl: bool = False
    active: bool = True
    delivery: DeliveryOptions = DeliveryOptions()

    def write(self, db: Connection, app: Row) -> bool:
        """Create or update the app's hook. Return whether that changes anything."""
        fields = {
            **self.model_dump(include={"url", "content_type", "insecure_ssl", "active"}),
            "secret": secret(self.secret),
            "options": self.delivery.model_dump(exclude_none=True),
        }
        before = app_hooks.of(db, app["id"])
        if before is None:
            app_hooks.create(db, app, **fields)
            return True
        changes = changed_columns(self, fields, with_secrets(db, before))
        if changes:
            hooks.update(db, before, **changes)
        return bool(changes)


class AppEntry(SectionEntry):
    """An app, identified by its name. If it is new and has no `client_secret`, it gets a random
    one. The owner, `kind` and `client_id` of an existing app cannot change. `permissions` and
    `events` replace the present ones.
    """

    identified_by = ("name",)

    name: str
    owner: str
    url: str
    kind: Literal["oauth", "integration"] = "oauth"
    description: str | None = None
    permissions: dict[str, Level] = Field(default_factory=dict)
    events: list[EventName] = Field(default_factory=list)
    public: bool = True
    public_keys: list[str] = Field(default_factory=list)
    client_id: str | None = None
    client_secret: SecretStr | None = None
    hook: AppHookEntry | None = None

    def apply(self, db: Connection) -> StateChange:
        """Create or update the app. The change has the random secret of a new app."""
        if apps.by_name(db, self.name) is not None:
            return super().apply(db)
        given = secret(self.client_secret)
        made, row = apps.create(
            db,
            lookups.account(db, self.owner)["id"],
            self.name,
            url=self.url,
            kind=self.kind,
            description=self.description,
            permissions=self.permissions,
            events=self.events,
            public=self.public,
            client_id=self.client_id,
            client_secret=given,
        )
        self._add_keys(db, row["id"])
        self._write_hook(db, row)
        return StateChange(self.noun, self.name, "created", made if given is None else None)

    def find(self, db: Connection, parent: Row) -> Row | None:
        return apps.by_name(db, self.name)

    def _write_hook(self, db: Connection, app: Row) -> bool:
        return self.hook is not None and self.hook.write(db, app)

    def _add_keys(self, db: Connection, app_id: int) -> bool:
        """Add the public keys that the app does not have. Return whether any were added."""
        known = {row["fingerprint"] for row in app_keys.of_app(db, app_id)}
        missing = [pem for pem in self.public_keys if app_keys.fingerprint_of(pem) not in known]
        for pem in missing:
            app_keys.add(db, app_id, pem)
        return bool(missing)

    def write(self, db: Connection, parent: Row, before: Row) -> bool:
        """Update the app. Keys that the document does not mention stay.

        Raises Conflict if its owner, kind or client id would change: its tokens depend on them.
        """
        owner, given = lookups.account(db, self.owner), secret(self.client_secret)
        fixed = {"owner_id": owner["id"], **self.given("kind")}
        if self.client_id is not None:
            fixed["client_id"] = self.client_id
        if not fixed.items() <= before.items():
            raise Conflict(f"the app {self.name!r} has another owner, kind or id; remove it first")
        names = ("url", "description", "permissions", "events", "public")
        kept = {name: before[name] for name in names}
        after = kept | self.given(*kept)
        after["events"] = apps.checked_events(after["events"])
        if after != kept:
            app_hooks.update_app(db, before["id"], **after)
        if given is not None and not apps.check_secret(before, given):
            apps.set_secret(db, before["id"], given)
        app = apps.get(db, before["id"])
        assert app is not None, "it was found in the same transaction"
        changed = self._write_hook(db, app)
        return self._add_keys(db, before["id"]) or changed


class InstallationEntry(SectionEntry):
    """An installation of an app on an account: for all its repositories, or only for some.

    If an entry has `permissions`, the account accepts these and the app's present events. Null
    stands for all permissions that the app asks for at present. `repositories` replace the present
    choice, and null stands for all, also later ones. By default, a new installation accepts all
    permissions and covers all repositories.
    """

    identified_by = ("app", "account")

    app: str
    account: str
    permissions: dict[str, Level] | None = None
    repositories: list[str] | None = None
    suspended: bool = False
    _settings: Settings = PrivateAttr(default_factory=Settings)

    def emit_with(self, settings: Settings) -> None:
        """Use the links and words of these settings in the events that `write` emits."""
        self._settings = settings

    def parent(self, db: Connection) -> Row:
        return lookups.integration(db, self.app)

    def find(self, db: Connection, parent: Row) -> Row | None:
        account = lookups.account(db, self.account)
        return installations.on_account(db, parent["id"], account["id"])

    def write(self, db: Connection, parent: Row, before: Row | None) -> bool:
        """Install the app, or change its installation."""
        account = lookups.account(db, self.account)
        names = self.repositories
        chosen = None if names is None else lookups.repository_ids(db, account, names)
        emits = installation_changes.EMITS
        ctx = api_context.for_account(db, self._settings, account, emits)
        if before is None:
            before = installation_changes.install(
                ctx, parent, account, accepted=self.permissions, chosen=chosen
            )
            return self._suspend(ctx, before)
        changes = []
        if "permissions" in self.model_fields_set:
            changes.append(installation_changes.accept(ctx, before, parent, self.permissions))
        if "repositories" in self.model_fields_set:
            changes.append(installation_changes.choose(ctx, before, chosen))
        return any([*changes, self._suspend(ctx, before)])

    def _suspend(self, ctx: Context, installation: Row) -> bool:
        """Suspend the installation or end its suspension. Return whether that changes anything."""
        if "suspended" not in self.model_fields_set:
            return False
        if self.suspended:
            return installation_changes.suspend(ctx, installation)
        return installation_changes.unsuspend(ctx, installation)
