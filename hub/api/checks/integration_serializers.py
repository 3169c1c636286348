"""Serializer of the apps that check runs belong to."""

from collections.abc import Sequence

from typing_extensions import TypedDict

from hub.api.repositories import stand_ins
from hub.rest.serializers import SimpleUser, row_serializer, simple_user
from hub.rest.urls import Urls
from store import Connection, Row
from store.accounts import accounts
from store.checks import check_apps


class Integration(TypedDict):
    id: int
    slug: str
    node_id: str
    owner: SimpleUser
    name: str
    description: str | None
    external_url: str
    html_url: str
    created_at: str
    updated_at: str
    permissions: dict[str, str]
    events: list[str]


_app = row_serializer(Integration, "id", "owner", "external_url", "html_url", kind="App")


def integrations(
    urls: Urls, db: Connection, suite_ids: Sequence[int] | set[int]
) -> dict[int, Integration]:
    """Serialize the app of each suite, by suite id. Suites without an app are left out."""
    apps = check_apps.of(db, suite_ids)
    owners = accounts.of(db, {app["owner_id"] for app in apps.values() if app["owner_id"]})
    return {
        suite_id: _integration(urls, app, owners.get(app["owner_id"]))
        for suite_id, app in apps.items()
    }


def _integration(urls: Urls, app: Row, owner: Row | None) -> Integration:
    page = app["html_url"] or urls.app_page(app["slug"])
    return _app(
        app,
        id=app["number"],
        owner=simple_user(urls, owner) if owner else stand_ins.account(urls),
        external_url=app["external_url"] or page,
        html_url=page,
    )
