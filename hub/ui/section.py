"""How a part of the dashboard is declared: its pages, its acts, and what of it is live.

Nothing is registered at import: a section is a list, and `sections` lists the sections.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from hub.rest.context import Services
from hub.settings import HubSettings
from hub.ui.view_context import ViewContext
from hub.ui.viewer import DashboardViewer

ROOT = "/ui"
Audience = Literal["anyone", "guest", "user", "operator"]
"""For whom: everybody; also who came with a link for one hook; who signed in with a token (what
they may see of it the function asks `look.viewer`); who runs the installation.
"""
Form = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RenderedPage:
    """A page: its template and what that is told."""

    template: str
    told: Mapping[str, Any]
    status: int = 200


@dataclass(frozen=True, slots=True)
class ActionResult:
    """An act is done: the page to go to (a path), and what is said there. `ids` and `fields` are
    for the audit log: names of what was changed, never a value. `cookies` are set.
    """

    to: str
    notice: str
    ids: Mapping[str, Any] | None = None
    fields: tuple[str, ...] = ()
    cookies: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PanelUpdate:
    """Something new for a page that is open: the event's name, which `sse-swap` names, and the
    template that makes its HTML.
    """

    event: str
    template: str
    told: Mapping[str, Any]


Before = Callable[[Services, Form], Awaitable[None]]
PageHandler = Callable[[ViewContext], RenderedPage | Mapping[str, Any]]
ActionHandler = Callable[[ViewContext], ActionResult | RenderedPage]
LiveHandler = Callable[[ViewContext, Any], tuple[Any, list[PanelUpdate]]]
IsOffered = Callable[[HubSettings, DashboardViewer], bool]


def _always(settings: HubSettings, viewer: DashboardViewer) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class SectionPage:
    """A page. `standing`: the installation's figures are looked up for it (`look.figures`);
    `described`: the API's description is made (`look.described`).
    """

    path: str
    template: str
    who: Audience
    standing: bool
    described: bool
    show: PageHandler


@dataclass(frozen=True, slots=True)
class Action:
    """Something that changes what there is, asked for with a form."""

    path: str
    name: str
    who: Audience
    before: Before | None
    act: ActionHandler


@dataclass(frozen=True, slots=True)
class LiveStream:
    """A stream of parts. Its function is called twice a second with what it returned first the
    time before (None at the beginning), and returns that and what is new.
    """

    path: str
    who: Audience
    standing: bool
    step: LiveHandler


class Section:
    """A noun of the dashboard; `label` is its entry in the menu, for `who`, which leads to `at`,
    where it is `offered` by these settings.
    """

    def __init__(
        self, label: str = "", at: str = "", who: Audience = "user", offered: IsOffered = _always
    ) -> None:
        self.label = label
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
        standing: bool = False,
        described: bool = False,
    ) -> Callable[[PageHandler], PageHandler]:
        """Show what the function below tells at this path (under /ui) in a template."""

        def declare(function: PageHandler) -> PageHandler:
            self.pages.append(
                SectionPage(ROOT + path, template, who, standing, described, function)
            )
            return function

        return declare

    def act(
        self, path: str, *, who: Audience = "user", before: Before | None = None
    ) -> Callable[[ActionHandler], ActionHandler]:
        """Have the function below act on a form that is posted to this path. It is run in a
        transaction that writes, and is noted in the audit log under `ui/` and its name. `before`
        is awaited first, outside of it.
        """

        def declare(function: ActionHandler) -> ActionHandler:
            name = f"ui/{function.__name__.strip('_').replace('_', '-')}"
            self.acts.append(Action(ROOT + path, name, who, before, function))
            return function

        return declare

    def live(
        self, path: str, *, who: Audience = "user", standing: bool = False
    ) -> Callable[[LiveHandler], LiveHandler]:
        """Stream what the function below finds."""

        def declare(function: LiveHandler) -> LiveHandler:
            self.lives.append(LiveStream(ROOT + path, who, standing, function))
            return function

        return declare
