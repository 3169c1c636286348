"""The context that a page's or an action's handler receives."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hub.auth.access import Access
from hub.http import numbers
from hub.http.forms import Form
from hub.rest.context import Context, Services
from hub.ui.viewer import DashboardViewer
from hub.ui.visible_owners import may, passes
from store import Connection, Row
from store.alerts import trouble
from store.errors import existing
from store.monitoring.stats import DeliveryStats

MOST = 2**62


@dataclass(slots=True)
class ViewContext:
    """The open transaction, the viewer and the request's parameters."""

    db: Connection
    services: Services
    viewer: DashboardViewer
    values: Mapping[str, str] = field(default_factory=dict)
    """The path's parameters."""
    query: Form = field(default_factory=Form)
    form: Form = field(default_factory=Form)
    """The fields of a posted form."""
    prepared: Any = None
    """The value that an action's `before`, or else its `prepare`, returned."""
    figures: DeliveryStats | None = None
    """The installation's figures, if the page is declared with `figures`."""
    origin: str = ""
    """The dashboard's origin as the browser sees it: `https://hooks.example`."""
    address: Callable[[], str] = lambda: ""
    session: str | None = None
    """The session cookie's value."""
    openapi: Callable[[], Mapping[str, Any]] = dict
    """Returns the API's description, if the page is declared with `openapi`."""

    _repo_ids: list[int] | None = None
    _has_asked: bool = False
    _has_trouble: bool | None = None

    def repositories(self, *also: Access) -> list[int] | None:
        """Return the ids of repositories whose hooks the viewer may see; None for all.

        Those where the token cannot give the access of `also` are left out.
        """
        if not self._has_asked:
            self._repo_ids, self._has_asked = self.viewer.repositories(self.db), True
        return self.viewer.repositories(self.db, *also) if also else self._repo_ids

    def organizations(self) -> list[int]:
        """Return what `DashboardViewer.organizations` returns."""
        return self.viewer.organizations(self.db)

    def owners_of_deliveries(self) -> list[int] | None:
        """Return the organizations to whose hooks the viewer may see deliveries; None for all."""
        return None if self.repositories() is None else self.organizations()

    def check_event(self, event: Row) -> None:
        """Check that the viewer may see an event. Raises Missing or Forbidden if not."""
        mine = [] if self.repositories() is None else self.organizations()
        if not event["org_id"] or event["org_id"] not in mine:
            self.viewer.left_of(self.db, event["repo_id"], event["org_id"])

    def may_see_event(self, event: Row) -> bool:
        return passes(self.check_event, event)

    def has_trouble(self) -> bool:
        """Return whether there is an open problem that the viewer may see."""
        if self._has_trouble is None:
            repo_ids = self.repositories()
            org_ids = [] if repo_ids is None else self.organizations()
            self._has_trouble = trouble.exists(self.db, repo_ids, org_ids)
        return self._has_trouble

    @property
    def unseen(self) -> str:
        """Return why a page shows the viewer nothing: `token`, `role`, or empty if it may show."""
        if not self._has_asked or self._repo_ids is None or self._repo_ids:
            return ""
        caller = self.viewer.caller
        return "token" if caller is not None and not may(caller) else "role"

    @property
    def now(self) -> int:
        """Return the transaction's time, in microseconds."""
        return self.db.now

    def number(self, name: str) -> int:
        """Return a positive number in the path. Raises Missing for anything else."""
        return existing(natural(self.values[name]), name)

    def asked(self, name: str, longest: int = 200) -> str:
        """Return a query parameter, trimmed, up to `longest` characters; empty if it is missing."""
        return self.query.get(name, "").strip()[:longest]

    def asked_number(self, name: str) -> int | None:
        """Return a query parameter as a positive number; None for anything else."""
        return natural(self.asked(name))

    def context(self, emits: tuple[str, ...] = ()) -> Context:
        """Return an API context, for functions that the API shares with the dashboard."""
        return Context(
            self.db,
            self.services.urls,
            self.viewer.caller,
            emits,
            words=self.services.vocabulary,
            hooks_per_event=self.services.settings.hooks_per_event,
        )


def natural(text: str) -> int | None:
    """Parse a positive number in digits; None for anything else."""
    return numbers.natural(text) or None
