"""What a trial is given, and what it found."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random


@dataclass(frozen=True)
class Finding:
    """One promise beside what was seen; `kept` says whether it held."""

    what: str
    promised: str
    seen: str
    kept: bool


@dataclass
class Trial:
    """How long and how hard to try; `folder` is empty and the trial's own."""

    folder: Path
    rounds: int
    seed: int = 0
    report: Callable[[str], None] = lambda text: None
    """Says how far it is."""
    findings: list[Finding] = field(default_factory=list)

    @property
    def chance(self) -> Random:
        """The same for the same seed."""
        return Random(self.seed)

    def find(self, what: str, promised: str, seen: object, kept: bool) -> None:
        """Note whether a promise was kept."""
        self.findings.append(Finding(what, promised, str(seen), kept))

    def show(self, what: str, seen: object) -> None:
        """Note a figure that nothing is promised of."""
        self.find(what, "-", seen, True)

    def none(self, what: str, found: object) -> None:
        """Note that there must be nothing of this kind; `found` is what there was, or how many."""
        count = found if isinstance(found, int) else len(found)  # type: ignore[arg-type]
        shown = count if isinstance(found, int) or not found else f"{count}: {str(found)[:200]}"
        self.find(what, "0", shown, not count)
