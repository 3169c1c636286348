"""One look at the dashboard: what a page's function is given."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hub.http import numbers
from hub.rest.context import Context, Services
from hub.ui.viewer import DashboardViewer
from store import Connection
from store.errors import Missing
from store.monitoring.stats import DeliveryStats

MOST = 2**62


@dataclass(slots=True)
class ViewContext:
    """The open transaction, who looks, and what was asked for."""

    db: Connection
    house: Services
    viewer: DashboardViewer
    values: Mapping[str, str] = field(default_factory=dict)
    """The path's parameters."""
    query: Mapping[str, str] = field(default_factory=dict)
    form: Mapping[str, str] = field(default_factory=dict)
    """What was posted, for an act."""
    figures: DeliveryStats | None = None
    """How things stand with the installation, where the page is declared with `standing`."""
    origin: str = ""
    """The dashboard's origin as the viewer writes it: `https://hooks.example`."""
    address: Callable[[], str] = lambda: ""
    described: Callable[[], Mapping[str, Any]] = dict
    """The API's description, where the page is declared with that."""

    @property
    def now(self) -> int:
        """The transaction's time, in microseconds."""
        return self.db.now

    def number(self, name: str) -> int:
        """A number in the path. Missing for what is none."""
        return natural(self.values[name]) or _missing(name)

    def asked(self, name: str, longest: int = 200) -> str:
        """A parameter of the query, trimmed; empty where it is not there."""
        return self.query.get(name, "").strip()[:longest]

    def asked_number(self, name: str) -> int | None:
        """The same as a number; None for what is none."""
        return natural(self.asked(name))

    def context(self, emits: tuple[str, ...] = ()) -> Context:
        """As the API's handlers have it, for what they have in common with an act."""
        return Context(
            self.db, self.house.urls, self.viewer.caller, emits, words=self.house.vocabulary
        )


def natural(text: str) -> int | None:
    """A number above zero in digits, None for anything else."""
    return numbers.natural(text) or None


def _missing(name: str) -> int:
    raise Missing(name)
