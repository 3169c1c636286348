"""The trial of a hook's form: a request that the receiver gets before anything is saved."""

from dataclasses import dataclass
from typing import Any

from hub.api.hooks.hook_requests import merged
from hub.rest.context import Services
from hub.ui.catalog.examples import example_of
from hub.ui.view_context import ViewContext
from store import Row
from store.database import uuid7
from store.delivery import event_fields
from store.errors import Invalid, Unprepared
from store.hooks import hooks, option_secrets, signing_keys
from store.hooks.event_names import HUB_EVENTS, PLATFORM_EVENTS
from store.hooks.hook_options import DeliveryOptions
from store.hooks.hook_targets import HookTarget
from store.hooks.trial import TrialAnswer, TrialRequest

EVENTS = tuple(sorted(PLATFORM_EVENTS | HUB_EVENTS))


@dataclass(frozen=True, slots=True)
class TrialResult:
    """A trial, and the answer to it."""

    event: str
    origin: str
    answer: TrialAnswer
    sent: bool


@dataclass(frozen=True, slots=True)
class PlannedTrial:
    """A trial that is ready to run. If `sends` is false, the request is only built and shown."""

    request: TrialRequest
    origin: str
    sends: bool

    async def run(self, services: Services) -> TrialResult:
        """Send the request, or only build it. Raises Unprepared if this server has no trials."""
        if services.trials is None:
            raise Unprepared("this server cannot send requests: start it with `tocsin serve`")
        if not self.sends:
            answer = services.trials.build(self.request)
        else:
            answer = await services.trials.send(self.request)
        return TrialResult(self.request.event, self.origin, answer, self.sends)


def plan(
    ctx: ViewContext, target: HookTarget, repo: Row | None, body: Any, hook: Row | None = None
) -> PlannedTrial:
    """Return the trial that a form asks for. `body` is the request for the API.

    The example is of `repo`, which a hook of a repository belongs to.
    """
    event = ctx.form.get("trial_event", "ping")
    if event not in EVENTS:
        raise Invalid(f"There is no event {event[:100]!r}.", field="trial_event", resource="Hook")
    example = example_of(ctx, repo, event)
    config = body["config"]
    options = merged({} if hook is None else hook["options"], body.get("delivery"))
    options = option_secrets.resolved(ctx.db, hook, options, config["url"])
    secret = config.get("secret") if hook is None else hooks.secret_of(ctx.db, hook)
    repo_id = 0 if repo is None else repo["id"]
    request = TrialRequest(
        repo_id=repo_id,
        url=config["url"],
        content_type=config["content_type"],
        insecure_ssl=str(config["insecure_ssl"]) == "1",
        secret=secret or None,
        event=event,
        guid=uuid7.new(),
        body=example.body,
        hook_id=0 if hook is None else hook["id"],
        keys=[] if hook is None else signing_keys.wanted_keys(ctx.db, hook["id"], options),
        target=target,
        options=DeliveryOptions.model_validate(options),
        repository=event_fields.own_repository(ctx.db, repo_id, example.body),
    )
    return PlannedTrial(request, example.origin, sends=ctx.form.get("how") != "show")
