"""Secret scanning pattern configurations (group 20): the patterns that block a push."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, NotRequired, cast

from annotated_types import MaxLen
from typing_extensions import TypedDict

from hub.auth.organization_access import on_org
from hub.rest import organization_serializers
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.organization_serializers import OrganizationSimple
from hub.rest.serializers import SimpleUser
from hub.rest.validation import Text
from store import Row
from store.accounts import organizations
from store.errors import Invalid
from store.secret_scanning import secret_patterns
from store.secret_scanning.secret_patterns import MOST, RESOURCE, percentage

ops = OperationGroup("secret-scanning", org=organizations.by_login)

READ = on_org("organization_administration", "read", owner=True, scopes=("read:org",))
WRITE = on_org("organization_administration", "write", owner=True, scopes=("write:org",))

Default = Literal["disabled", "enabled"]
Setting = Literal["not-set", "disabled", "enabled"]
Version = Annotated[Text, MaxLen(255)]


class ListedPattern(TypedDict):
    """The members that patterns of providers and of organizations have."""

    token_type: str
    slug: str
    display_name: str
    alert_total: int
    alert_total_percentage: int
    false_positives: int
    false_positive_rate: int
    bypass_rate: int
    default_setting: Default


class ProviderPattern(ListedPattern):
    """A provider's pattern. All rates are rounded percentages.

    `alert_total_percentage` relates to all alerts, `false_positive_rate` to the pattern's alerts,
    and `bypass_rate` to the pushes that it blocked.
    """

    setting: Setting
    enterprise_setting: Setting | None


class CustomPattern(ListedPattern):
    custom_pattern_version: str | None
    setting: Default


class PatternConfiguration(TypedDict):
    pattern_config_version: str
    provider_pattern_overrides: list[ProviderPattern]
    custom_pattern_overrides: list[CustomPattern]


class ProviderSetting(TypedDict):
    token_type: Annotated[Text, MaxLen(255)]
    push_protection_setting: Setting


class CustomSetting(TypedDict):
    token_type: Annotated[Text, MaxLen(255)]
    custom_pattern_version: NotRequired[Version | None]
    push_protection_setting: Default


class PatternSettings(TypedDict, total=False):
    """Settings of patterns. An outdated version is rejected. Null is no version to compare."""

    pattern_config_version: Version | None
    provider_pattern_settings: Annotated[list[ProviderSetting], MaxLen(MOST)]
    custom_pattern_settings: Annotated[list[CustomSetting], MaxLen(MOST)]


class PatternVersion(TypedDict):
    pattern_config_version: str


class PatternConfigurationEvent(TypedDict):
    action: Literal["updated"]
    pattern_config_version: str
    provider_pattern_settings: list[ProviderSetting]
    custom_pattern_settings: list[CustomSetting]
    organization: OrganizationSimple
    sender: SimpleUser | None


ops.declare_events(secret_scanning_pattern_configuration=PatternConfigurationEvent)


@ops("GET /orgs/{org}/secret-scanning/pattern-configurations", READ)
def list_org_pattern_configs(ctx: Context, org: Row) -> PatternConfiguration:
    """List organization pattern configurations

    The providers' patterns and the organization's own.
    """
    rows = secret_patterns.list_all(ctx.db, org["id"])
    total = secret_patterns.total(rows)
    return {
        "pattern_config_version": secret_patterns.version(ctx.db, org["id"]),
        "provider_pattern_overrides": [_provider(row, total) for row in rows if not row["custom"]],
        "custom_pattern_overrides": [_custom(row, total) for row in rows if row["custom"]],
    }


@ops(
    "PATCH /orgs/{org}/secret-scanning/pattern-configurations",
    WRITE,
    errors=(409,),
    emits=("secret_scanning_pattern_configuration.updated",),
)
def update_org_pattern_configs(ctx: Context, org: Row, body: PatternSettings) -> PatternVersion:
    """Update organization pattern configurations

    Patterns that are not named stay as they are. With `pattern_config_version`, the request fails
    with 409 if the configuration has changed since that version. The same holds for each custom
    pattern. Null is no version to compare.
    """
    providers = _once("provider", body.get("provider_pattern_settings", []))
    custom = _once("custom", body.get("custom_pattern_settings", []))
    version, is_new = secret_patterns.update(
        ctx.db,
        org["id"],
        {name: one["push_protection_setting"] for name, one in providers.items()},
        {
            name: (one.get("custom_pattern_version"), one["push_protection_setting"])
            for name, one in custom.items()
        },
        body.get("pattern_config_version"),
    )
    if is_new:
        ctx.emit(
            "secret_scanning_pattern_configuration.updated",
            None,
            pattern_config_version=version,
            provider_pattern_settings=[*providers.values()],
            custom_pattern_settings=[*custom.values()],
            organization=organization_serializers.organization(ctx.urls, org),
        )
    return {"pattern_config_version": version}


def _once(kind: str, settings: Iterable[Any]) -> Mapping[str, Any]:
    """Return the settings by token type. Raises Invalid if one occurs twice."""
    found: dict[str, Any] = {}
    for one in settings:
        if one["token_type"] in found:
            message = f"{one['token_type']!r} occurs twice"
            raise Invalid(message, field=f"{kind}_pattern_settings", resource=RESOURCE)
        found[one["token_type"]] = one
    return found


def _serialize(row: Row, total: int) -> dict[str, Any]:
    return {
        "token_type": row["token_type"],
        "slug": row["slug"],
        "display_name": row["display_name"],
        "alert_total": row["alerts"],
        "alert_total_percentage": percentage(row["alerts"], total),
        "false_positives": row["false_positives"],
        "false_positive_rate": percentage(row["false_positives"], row["alerts"]),
        "bypass_rate": percentage(row["bypasses"], row["blocks"]),
        "default_setting": row["default_setting"],
        "setting": row["setting"],
    }


def _provider(row: Row, total: int) -> ProviderPattern:
    shown = _serialize(row, total) | {"enterprise_setting": row["enterprise_setting"]}
    return cast("ProviderPattern", shown)


def _custom(row: Row, total: int) -> CustomPattern:
    shown = _serialize(row, total) | {"custom_pattern_version": row["version"]}
    return cast("CustomPattern", shown)
