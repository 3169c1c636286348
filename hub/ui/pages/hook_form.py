"""The form in which a hook is made or changed."""

from typing import Any

from hub.api.hooks import hook_requests as api
from hub.api.hooks.hook_access import creator_of
from hub.http.errors import HubError
from hub.rest.context import Services
from hub.ui.catalog.meanings import meaning
from hub.ui.hook_form import access, fields, trial, validation
from hub.ui.hook_form.fields import SECRETS, HookFields
from hub.ui.hook_form.options import OPTIONS
from hub.ui.hook_form.validation import Mistakes
from hub.ui.pages.hook import PATH, changeable_hook
from hub.ui.section import ROOT, ActionResult, Refusal, RenderedPage, Section
from hub.ui.view_context import ViewContext
from store import Row
from store.accounts import accounts, organizations
from store.errors import Conflict, Missing, existing
from store.hooks import hooks
from store.hooks.event_names import FITTING, OWN
from store.hooks.hook_targets import HookTarget, organization, repository, target_of
from store.repositories import repositories

ui = Section()

TEMPLATE = "hook_form.html"
# The number of organizations, and of repositories, that the field suggests.
SUGGESTED = 100
LABELS = {"url": "URL", "own_secret": "Secret", "retries": "Retry schedule"} | access.LABELS
"""The labels of fields, if their names do not say the same."""
EITHER = {"repository": "Repository or organization"}
OPENED = "opened"
"""The field with the time of the hook's last change when the form was opened."""
STALE = "The hook has changed since you opened this form."
CREATED = "The hook has been created. A ping is on its way to it."


def form_values(ctx: ViewContext, shown: HookFields, hook: Row | None = None) -> dict[str, Any]:
    """Return the form's values for the template."""
    kind = target_of(hook).kind if hook else "repository"
    offered = set() if hook else _for_organizations_alone(ctx)
    return {
        "fields": shown,
        "hook": hook,
        "opened": ctx.form.get(OPENED) or (str(hook["updated_at"]) if hook else ""),
        "platform": {name: meaning(name) for name in sorted(FITTING[kind])},
        "own": {name: meaning(name) for name in fields.own_events(kind)},
        "of_organizations": {name: meaning(name) for name in sorted(offered)},
        "options": OPTIONS,
        "access_groups": access.GROUPS,
        "labels": LABELS | EITHER if offered else LABELS,
        "again": shown.access.forgotten(),
        "secrets": SECRETS,
        "repositories": [] if hook else _suggested(ctx),
        "wrong": {},
        "stale": "",
        "trial": None,
        "trials": ctx.services.trials is not None,
        "trial_event": ctx.form.get("trial_event", "ping"),
        "trial_events": trial.EVENTS,
    }


def form_page(ctx: ViewContext, hook: Row | None, **more: object) -> RenderedPage:
    """Return the page of the form as it was posted, with these values in place of the usual ones.

    `hook` is None for a new hook.
    """
    values = form_values(ctx, fields.posted(ctx.form, hook), hook)
    return RenderedPage(TEMPLATE, {**values, **more})


def _for_organizations_alone(ctx: ViewContext) -> set[str]:
    """Return the events of organizations that no repository has, if the viewer may own any."""
    if not ctx.viewer.may_change_organizations:
        return set()
    of_organization, of_repository = (
        FITTING[kind] | OWN[kind] for kind in ("organization", "repository")
    )
    return set(of_organization - of_repository)


def _suggested(ctx: ViewContext) -> list[str]:
    """Return the names of the newest organizations and repositories with hooks to see."""
    mine = (ctx.repositories() or [])[-SUGGESTED:]
    owned = sorted(ctx.organizations())[-SUGGESTED:]
    return [
        *sorted(row["login"] for row in accounts.of(ctx.db, owned).values()),
        *sorted(row["full_name"] for row in repositories.of(ctx.db, mine).values()),
    ]


@ui.page("/hooks/new", TEMPLATE)
def new_hook(ctx: ViewContext) -> dict[str, Any]:
    """Show the form of a new hook."""
    ctx.viewer.check_change_any()
    return form_values(ctx, HookFields(ctx.asked("repository"), url=ctx.asked("url", 2048)))


def _prepare_new(ctx: ViewContext) -> tuple[HookTarget, api.NewHook]:
    posted = fields.posted(ctx.form)
    return chosen_target(ctx, posted.repository), validation.new_hook(posted.request())


def chosen_target(ctx: ViewContext, named: str) -> HookTarget:
    """Return the repository `owner/name` or the organization whose hooks the viewer may change.

    Raises Mistakes if there is none.
    """
    ctx.viewer.check_change_any()
    try:
        target = _target(ctx, named)
        ctx.viewer.check_change_of(ctx.db, target)
    except (HubError, Missing):
        message = f"There is no repository or organization {named!r} whose hooks you may change."
        raise Mistakes({"repository": message}) from None
    return target


def _target(ctx: ViewContext, named: str) -> HookTarget:
    owner, slash, name = named.partition("/")
    if slash:
        return repository(existing(repositories.find(ctx.db, owner, name), "repository")["id"])
    return organization(existing(organizations.by_login(ctx.db, owner), "organization")["id"])


async def _check_new(
    services: Services, prepared: tuple[HookTarget, api.NewHook]
) -> tuple[HookTarget, api.NewHook]:
    await api.check_new_hook(services, prepared[1])
    return prepared


def show_new_again(ctx: ViewContext, error: Refusal) -> RenderedPage:
    """Show the form of a new hook with what is wrong in it."""
    return form_page(ctx, None, wrong=validation.messages_of(error))


@ui.act("/hooks/new", prepare=_prepare_new, before=_check_new, refused=show_new_again)
def create_hook(ctx: ViewContext) -> ActionResult | RenderedPage:
    """Create a hook. If the hub made its secret, show the secret this once."""
    target, body = ctx.prepared
    ctx.viewer.check_change_of(ctx.db, target)
    # As in the API: only hooks of organizations belong to the application that made them.
    creator = creator_of(ctx.viewer.caller) if target.kind == "organization" else None
    made = api.created(ctx.context(("ping",)), target, body, creator)
    ids = {target.kind: target.id, "id": made["id"]}
    if ctx.form.get("secret") != "new":
        return ActionResult(f"{ROOT}/hooks/{made['id']}", CREATED, ids)
    values = {"hook": made, "secret": body["config"]["secret"], "had": False, "until": None}
    return RenderedPage("secret.html", {**values, "notice": CREATED}, ids=ids)


@ui.page(f"{PATH}/edit", TEMPLATE)
def edit_hook(ctx: ViewContext) -> dict[str, Any]:
    """Show the form of a hook."""
    hook, repo, _ = changeable_hook(ctx)
    return form_values(ctx, fields.stored(hook, repo["full_name"] if repo else ""), hook)


def _prepare_change(ctx: ViewContext) -> api.HookChange:
    hook, _, _ = changeable_hook(ctx)
    return validation.hook_change(fields.posted(ctx.form, hook).change())


async def _check_change(services: Services, body: api.HookChange) -> api.HookChange:
    await api.check_hook_change(services, body)
    return body


def _show_change_again(ctx: ViewContext, error: Refusal) -> RenderedPage:
    hook, _, _ = changeable_hook(ctx)
    if isinstance(error, Conflict):
        # If it is sent again, the page has said that it replaces another change.
        return form_page(ctx, hook, stale=str(error), opened=str(hook["updated_at"]))
    return form_page(ctx, hook, wrong=validation.messages_of(error))


@ui.act(f"{PATH}/edit", prepare=_prepare_change, before=_check_change, refused=_show_change_again)
def change_hook(ctx: ViewContext) -> ActionResult:
    """Change a hook. Options that the form does not have stay as they are."""
    found, _, place = changeable_hook(ctx)
    # Somebody else may be changing it. Only a locked hook cannot change after the comparison.
    hook = hooks.lock(ctx.db, found)
    if ctx.form.get(OPENED, str(hook["updated_at"])) != str(hook["updated_at"]):
        raise Conflict(STALE)
    api.changed(ctx.context(), hook, ctx.prepared)
    return ActionResult(place, "The hook has been changed.", fields=tuple(ctx.prepared))
