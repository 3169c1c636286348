"""The declaration of the dashboard's sections: pages, actions and live streams.

An import registers nothing: a section has lists of its parts, and `site_sections` lists all
sections.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from hub.rest.context import Services
from hub.settings import HubSettings
from hub.ui.view_context import ViewContext
from hub.ui.viewer import DashboardViewer
from store.errors import Conflict, Invalid

ROOT = "/ui"
Audience = Literal["anyone", "guest", "user", "operator"]
"""The audience of a page.

`anyone` includes visitors who are not signed in. `guest` includes visitors with a link to one hook.
`user` means signed in with a token; its handler checks `ctx.viewer` for access. `operator` means
somebody who operates the installation.
"""


@dataclass(frozen=True, slots=True)
class RenderedPage:
    """A page: its template and the values for it.

    If an action returns it, `ids` are for the audit log.
    """

    template: str
    values: Mapping[str, Any]
    status: int = 200
    ids: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class PageElsewhere:
    """The result of a page that leads to another one: the path to redirect to."""

    to: str


@dataclass(frozen=True, slots=True)
class ActionResult:
    """The result of an action: the path to redirect to, and the notice shown there.

    `ids` and `fields` are for the audit log: names of what changed, never a value. `cookies` are
    set in the response.
    """

    to: str
    notice: str
    ids: Mapping[str, Any] | None = None
    fields: tuple[str, ...] = ()
    cookies: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class PanelUpdate:
    """An update for an open page: the event's name (for `data-swap`) and the HTML's template."""

    event: str
    template: str
    values: Mapping[str, Any]


Prepare = Callable[[ViewContext], Any]
Before = Callable[[Services, Any], Awaitable[Any]]
Refusal = Invalid | Conflict
RefusedHandler = Callable[[ViewContext, Refusal], RenderedPage]
PageHandler = Callable[[ViewContext], RenderedPage | PageElsewhere | Mapping[str, Any]]
ActionHandler = Callable[[ViewContext], ActionResult | RenderedPage]
LiveHandler = Callable[[ViewContext, Any], tuple[Any, list[PanelUpdate]]]
IsOffered = Callable[[HubSettings, DashboardViewer], bool]


def refusal_messages(error: Refusal, field: str) -> dict[str, str]:
    """Return the message by the wrong field. If the error names no field, it is by `field`."""
    return {getattr(error, "field", None) or field: str(error)}


def _always(settings: HubSettings, viewer: DashboardViewer) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class SectionPage:
    """A page. With `figures`, the installation's figures are loaded into `ctx.figures`.

    With `openapi`, the API's description is prepared for `ctx.openapi`.
    """

    path: str
    template: str
    who: Audience
    figures: bool
    openapi: bool
    show: PageHandler


@dataclass(frozen=True, slots=True)
class Action:
    """A change that is requested with a form. `act` runs in a write transaction.

    First `prepare` runs in a read transaction: it checks access. Then `before` is awaited outside
    any transaction, with the value that `prepare` returned. `ctx.prepared` is the value that
    `before` returned. If one of the three raises Invalid or Conflict, `refused` returns the page to
    show: the form with what was entered. If `prepare` takes seconds, it `computes`.
    """

    path: str
    name: str
    who: Audience
    act: ActionHandler
    prepare: Prepare | None = None
    before: Before | None = None
    refused: RefusedHandler | None = None
    computes: bool = False


@dataclass(frozen=True, slots=True)
class LiveStream:
    """A stream of updates for an open page.

    Its handler runs twice a second. It receives the state that it returned before (None at first),
    and returns the new state and the updates. If a browser reconnects, the query has `resumed`. If
    the state is a number, the query's `after` is the last state.
    """

    path: str
    who: Audience
    figures: bool
    step: LiveHandler


class Section:
    """A section of the dashboard. `label` is its menu entry, which links to `at`.

    The entry is shown to the audience `who`, if `offered` returns true for the settings and the
    viewer. With `second` it is in the menu's second level.
    """

    def __init__(
        self,
        label: str = "",
        at: str = "",
        who: Audience = "user",
        offered: IsOffered = _always,
        *,
        second: bool = False,
    ) -> None:
        self.label = label
        self.second = second
        self.at = ROOT + at
        self.who = who
        self.offered = offered
        self.pages: list[SectionPage] = []
        self.acts: list[Action] = []
        self.lives: list[LiveStream] = []

    def page(
        self,
        path: str,
        template: str,
        *,
        who: Audience = "user",
        figures: bool = False,
        openapi: bool = False,
    ) -> Callable[[PageHandler], PageHandler]:
        """Declare the decorated function as the page at this path, which is below /ui."""

        def declare(function: PageHandler) -> PageHandler:
            self.pages.append(SectionPage(ROOT + path, template, who, figures, openapi, function))
            return function

        return declare

    def act(
        self,
        path: str,
        *,
        who: Audience = "user",
        prepare: Prepare | None = None,
        before: Before | None = None,
        refused: RefusedHandler | None = None,
        computes: bool = False,
    ) -> Callable[[ActionHandler], ActionHandler]:
        """Declare the decorated function as the handler of forms posted to this path.

        The audit log names the action `ui/` and the function's name, with `-` in place of `_`. See
        Action for the other functions.
        """

        def declare(function: ActionHandler) -> ActionHandler:
            name = f"ui/{function.__name__.strip('_').replace('_', '-')}"
            steps = prepare, before, refused, computes
            self.acts.append(Action(ROOT + path, name, who, function, *steps))
            return function

        return declare

    def live(
        self, path: str, *, who: Audience = "user", figures: bool = False
    ) -> Callable[[LiveHandler], LiveHandler]:
        """Declare the decorated function as the stream of updates at this path."""

        def declare(function: LiveHandler) -> LiveHandler:
            self.lives.append(LiveStream(ROOT + path, who, figures, function))
            return function

        return declare
