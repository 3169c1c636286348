"""The generator of the manual's reference pages and of the systemd units' environment file.

`python -m hub.cli.manual.generate` writes them all.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from hub.cli.install.systemd_environment import environment
from hub.cli.manual.commands import commands
from hub.cli.manual.errors import errors
from hub.cli.manual.events import events
from hub.cli.manual.exit_codes import exit_codes
from hub.cli.manual.metrics import metrics
from hub.cli.manual.not_served import not_served
from hub.cli.manual.operations import operations
from hub.cli.manual.settings import settings
from hub.cli.manual.state_document import state_document

PAGES: Mapping[str, Callable[[], str]] = {
    "commands": commands,
    "settings": settings,
    "operations": operations,
    "not-served": not_served,
    "errors": errors,
    "events": events,
    "metrics": metrics,
    "exit-codes": exit_codes,
    "state-document": state_document,
}
FOLDER = Path("hub/docs/reference")


def write(folder: Path) -> None:
    """Write all generated pages to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, made in PAGES.items():
        (folder / f"{name}.md").write_text(made(), encoding="utf-8")


if __name__ == "__main__":
    write(FOLDER)
    Path("systemd/tocsin.env").write_text(environment(), encoding="utf-8")
