"""The keys of an ordered hook, on the hook's page, and the actions on one of them."""

from hub.ui.pages.hook import PATH, changeable_hook
from hub.ui.section import ActionResult, Section
from hub.ui.view_context import ViewContext
from store.ordering import operations

ui = Section()


@ui.act(f"{PATH}/keys/skip")
def skip_key(ctx: ViewContext) -> ActionResult:
    """Give up the first delivery of a key, and go on with the next one."""
    hook, _, place = changeable_hook(ctx)
    operations.skip(ctx.db, hook["id"], _key(ctx))
    return ActionResult(place, "The key goes on with its next delivery.", fields=("key",))


@ui.act(f"{PATH}/keys/discard")
def discard_key(ctx: ViewContext) -> ActionResult:
    """Give up all deliveries of a key that have not been sent."""
    hook, _, place = changeable_hook(ctx)
    many = operations.discard(ctx.db, hook["id"], _key(ctx))
    return ActionResult(place, f"Discarded deliveries: {many}.", fields=("key",))


def _key(ctx: ViewContext) -> str:
    return str(ctx.form.get("key", ""))
