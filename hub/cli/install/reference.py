"""The README's tables, from what they describe; `python -m hub.cli.install.reference`
rewrites them, and
the units' environment file.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from hub.admin.store_gauges import StoreGauges
from hub.cli import main
from hub.cli.console.exits import CODES
from hub.cli.install.systemd_environment import environment
from hub.cli.service.configuration import all_settings
from hub.operations import OPERATIONS
from hub.rest.metrics import HubMetrics
from store.database.metrics import AnyMetric, StoreMetrics
from worker.delivery.metrics import WorkerMetrics


def sections() -> dict[str, str]:
    """Name of each table to its Markdown."""
    return {
        "settings": settings(),
        "commands": commands(),
        "exits": exits(),
        "operations": operations(),
        "metrics": metrics(),
    }


def settings() -> str:
    """The table of settings."""
    rows = [
        f"| `{each.name}` | {each.kind} | {_code(each.default)} | {_safe(each.description)} |"
        for each in all_settings()
    ]
    return "\n".join(["| setting | kind | default | |", "|---|---|---|---|", *rows])


def commands() -> str:
    """The table of commands."""
    context = click.Context(main, info_name="tocsin")
    rows = [f"| `{usage}` | {_safe(text)} |" for usage, text in _commands(main, context)]
    return "\n".join(["| command | |", "|---|---|", *rows])


def exits() -> str:
    """The table of the codes that commands end with."""
    rows = [f"| {code} | {_safe(text)} |" for code, text in CODES.items()]
    return "\n".join(["| code | |", "|---|---|", *rows])


def operations() -> str:
    """The table of the API's operations."""
    rows = [f"| `{each.method} {each.path}` | {_safe(each.summary)} |" for each in OPERATIONS]
    return "\n".join(["| operation | |", "|---|---|", *rows])


def metrics() -> str:
    """The table of metrics."""
    rows = [
        (f"`{each.name}`", each.kind, ", ".join(map(_code, each.labels)), _safe(each.text))
        for each in all_metrics()
    ]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(["| metric | | labels | |", "|---|---|---|---|", *lines])


def all_metrics() -> list[AnyMetric]:
    """All that `/metrics` may tell but of the process itself."""
    parts = (StoreGauges(), HubMetrics(), StoreMetrics(), WorkerMetrics())
    return [measure for part in parts for measure in part]


def _commands(group: click.Group, context: click.Context) -> Iterator[tuple[str, str]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=context)
        if isinstance(command, click.Group):
            yield from _commands(command, inner)
        else:
            yield _usage(command, inner), _summary(command)


def _usage(command: click.Command, context: click.Context) -> str:
    arguments = [
        param.make_metavar(context)
        for param in command.get_params(context)
        if isinstance(param, click.Argument)
    ]
    return " ".join([context.command_path, *arguments])


def _summary(command: click.Command) -> str:
    return (command.help or "").split("\n\n")[0].replace("\n", " ").strip()


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def _safe(text: str) -> str:
    return text.replace("|", "\\|")


def rewrite(document: str) -> str:
    """The document with each `<!-- name -->...<!-- /name -->` filled anew."""
    for name, text in sections().items():
        marked = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        document = marked.sub(lambda found, text=text: f"{found[1]}{text}\n{found[2]}", document)  # type: ignore[misc]
    return document


def write(path: Path) -> None:
    """Bring a document up to date."""
    path.write_text(rewrite(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "README.md"))
    Path("systemd/tocsin.env").write_text(environment(), encoding="utf-8")
