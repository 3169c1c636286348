"""The conversion of a manifest's code into an app with its credentials."""

from hub.api.apps import app_serializers
from hub.api.apps.app_serializers import App
from hub.auth.app_access import by_code
from hub.ingest import hook_events
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.resolve import text
from store.apps import app_keys, app_manifests
from store.errors import Conflict, Invalid, Missing

ops = OperationGroup("apps", code=text)


class NewApp(App):
    """An app with its credentials, which are shown only this once."""

    client_secret: str
    webhook_secret: str | None
    pem: str


@ops(
    "POST /app-manifests/{code}/conversions",
    by_code(),
    status=201,
    errors=(404, 422),
    emits=("ping",),
)
def create_from_manifest(ctx: Context, code: str) -> NewApp:
    """Create an app from a manifest

    The code is valid once, for an hour. 404 for any other one, 422 if the app's name is in use. If
    the manifest's `hook_attributes` have a `url`, the app has a webhook, which receives a ping.
    """
    try:
        made = app_manifests.convert(ctx.db, code)
    except Conflict as error:
        raise Invalid(str(error)) from None
    if made is None:
        raise Missing("code")
    private, _ = app_keys.create(ctx.db, made.app["id"])
    if made.hook is not None:
        hook_events.ping(ctx, made.hook)
    return {
        **app_serializers.app(ctx.urls, ctx.db, made.app),
        "client_secret": made.client_secret,
        "webhook_secret": made.webhook_secret,
        "pem": private,
    }
