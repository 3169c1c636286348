"""The parameters of a trial, and its findings."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

# The name of a finding that says why this machine cannot run the trial.
NOT_TRIED = "not tried"


@dataclass(frozen=True)
class Finding:
    """A promise and the observation. `kept` says whether the promise held."""

    what: str
    promised: str
    seen: str
    kept: bool


@dataclass
class Trial:
    """The parameters and findings of a trial. Nothing else uses its `folder`."""

    folder: Path
    rounds: int
    seed: int = 0
    report: Callable[[str], None] = lambda text: None
    """Shows the progress."""
    findings: list[Finding] = field(default_factory=list)

    @property
    def chance(self) -> Random:
        """Return a new random generator for the seed."""
        return Random(self.seed)

    def find(self, what: str, promised: str, seen: object, kept: bool) -> None:
        """Note whether a promise was kept."""
        self.findings.append(Finding(what, promised, str(seen), kept))

    def show(self, what: str, seen: object) -> None:
        """Note a figure without a promise."""
        self.find(what, "-", seen, True)

    def none(self, what: str, found: object) -> None:
        """Note whether nothing of a kind was found. `found` has the items, or is their number."""
        count = found if isinstance(found, int) else len(found)  # type: ignore[arg-type]
        shown = count if isinstance(found, int) or not found else f"{count}: {str(found)[:200]}"
        self.find(what, "0", shown, not count)
