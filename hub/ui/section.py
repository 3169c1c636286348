"""How a part of the dashboard is declared: its pages, its acts, and what of it is live.

Nothing is registered at import: a section is a list, and `sections` lists the sections.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from hub.context import House
from hub.settings import HubSettings
from hub.ui.look import Look
from hub.ui.viewer import Viewer

ROOT = "/ui"
Who = Literal["anyone", "guest", "user", "operator"]
"""For whom: everybody; also who came with a link for one hook; who signed in with a token (what
they may see of it the function asks `look.viewer`); who runs the installation.
"""
Form = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Shown:
    """A page: its template and what that is told."""

    template: str
    told: Mapping[str, Any]
    status: int = 200


@dataclass(frozen=True, slots=True)
class Done:
    """An act is done: the page to go to (a path), and what is said there. `ids` and `fields` are
    for the audit log: names of what was changed, never a value. `cookies` are set.
    """

    to: str
    notice: str
    ids: Mapping[str, Any] | None = None
    fields: tuple[str, ...] = ()
    cookies: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Part:
    """Something new for a page that is open: the event's name, which `sse-swap` names, and the
    template that makes its HTML.
    """

    event: str
    template: str
    told: Mapping[str, Any]


Before = Callable[[House, Form], Awaitable[None]]
Showing = Callable[[Look], Shown | Mapping[str, Any]]
Acting = Callable[[Look], Done | Shown]
Living = Callable[[Look, Any], tuple[Any, list[Part]]]
Offered = Callable[[HubSettings, Viewer], bool]


def _always(settings: HubSettings, viewer: Viewer) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Page:
    """A page. `standing`: the installation's figures are looked up for it (`look.figures`);
    `described`: the API's description is made (`look.described`).
    """

    path: str
    template: str
    who: Who
    standing: bool
    described: bool
    show: Showing


@dataclass(frozen=True, slots=True)
class Act:
    """Something that changes what there is, asked for with a form."""

    path: str
    name: str
    who: Who
    before: Before | None
    act: Acting


@dataclass(frozen=True, slots=True)
class Live:
    """A stream of parts. Its function is called twice a second with what it returned first the
    time before (None at the beginning), and returns that and what is new.
    """

    path: str
    who: Who
    standing: bool
    step: Living


class Section:
    """A noun of the dashboard; `label` is its entry in the menu, for `who`, which leads to `at`,
    where it is `offered` by these settings.
    """

    def __init__(
        self, label: str = "", at: str = "", who: Who = "user", offered: Offered = _always
    ) -> None:
        self.label = label
        self.at = ROOT + at
        self.who = who
        self.offered = offered
        self.pages: list[Page] = []
        self.acts: list[Act] = []
        self.lives: list[Live] = []

    def page(
        self,
        path: str,
        template: str,
        *,
        who: Who = "user",
        standing: bool = False,
        described: bool = False,
    ) -> Callable[[Showing], Showing]:
        """Show what the function below tells at this path (under /ui) in a template."""

        def declare(function: Showing) -> Showing:
            self.pages.append(Page(ROOT + path, template, who, standing, described, function))
            return function

        return declare

    def act(
        self, path: str, *, who: Who = "user", before: Before | None = None
    ) -> Callable[[Acting], Acting]:
        """Have the function below act on a form that is posted to this path. It is run in a
        transaction that writes, and is noted in the audit log under `ui/` and its name. `before`
        is awaited first, outside of it.
        """

        def declare(function: Acting) -> Acting:
            name = f"ui/{function.__name__.strip('_').replace('_', '-')}"
            self.acts.append(Act(ROOT + path, name, who, before, function))
            return function

        return declare

    def live(
        self, path: str, *, who: Who = "user", standing: bool = False
    ) -> Callable[[Living], Living]:
        """Stream what the function below finds."""

        def declare(function: Living) -> Living:
            self.lives.append(Live(ROOT + path, who, standing, function))
            return function

        return declare
