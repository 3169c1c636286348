"""Trials: a request to the receiver in a hook's form, before the form is saved."""

from hub.api.hooks.hook_requests import check_hook_config, check_token_url
from hub.rest.context import Services
from hub.ui.hook_form import fields, trial, validation
from hub.ui.hook_form.trial import PlannedTrial, TrialResult
from hub.ui.pages.hook import PATH, changeable_hook, example_repository, hook_with_example
from hub.ui.pages.hook_form import chosen_target, form_page, show_new_again
from hub.ui.section import Refusal, RenderedPage, Section
from hub.ui.view_context import ViewContext
from store.hooks.hook_targets import target_of

ui = Section()


def _prepare_new(ctx: ViewContext) -> PlannedTrial:
    posted = fields.posted(ctx.form)
    target = chosen_target(ctx, posted.repository)
    body = validation.new_hook(posted.request())
    return trial.plan(ctx, target, example_repository(ctx, target), body)


def _prepare_changed(ctx: ViewContext) -> PlannedTrial:
    hook, repo, _ = hook_with_example(ctx)
    body = validation.hook_change(fields.posted(ctx.form, hook).change())
    return trial.plan(ctx, target_of(hook), repo, body, hook)


async def _try(services: Services, planned: PlannedTrial) -> TrialResult:
    await check_hook_config(services, {"url": planned.request.url})
    await check_token_url(services, planned.request.options)
    return await planned.run(services)


def _show_changed_again(ctx: ViewContext, error: Refusal) -> RenderedPage:
    return form_page(ctx, changeable_hook(ctx)[0], wrong=validation.messages_of(error))


@ui.act("/hooks/new/try", prepare=_prepare_new, before=_try, refused=show_new_again)
def try_new_hook(ctx: ViewContext) -> RenderedPage:
    """Show how the receiver answered."""
    return form_page(ctx, None, trial=ctx.prepared)


@ui.act(f"{PATH}/try", prepare=_prepare_changed, before=_try, refused=_show_changed_again)
def try_hook(ctx: ViewContext) -> RenderedPage:
    """Show how the receiver of a changed hook answered."""
    return form_page(ctx, changeable_hook(ctx)[0], trial=ctx.prepared)
