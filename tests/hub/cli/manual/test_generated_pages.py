"""The generated pages of the manual are up to date and complete."""

import re
from pathlib import Path

import click
import pytest

from hub.cli import COMMANDS
from hub.cli.console.exits import CODES
from hub.cli.manual import generate
from hub.cli.manual.commands import all_commands
from hub.cli.manual.errors import all_headings
from hub.cli.manual.events import published
from hub.cli.manual.metrics import all_metrics
from hub.cli.manual.operations import title_of
from hub.cli.service.setting_list import all_settings
from hub.cli.state.models import StateDocument
from hub.http import cors
from hub.http.error_headings import HEADINGS, operation_anchor
from hub.http.errors import STATUSES
from hub.manual.library import manual
from hub.manual.markdown import slug
from hub.openapi.other_endpoints import OTHER_ENDPOINTS
from hub.openapi.webhooks import HEADERS as EVENT_HEADERS
from hub.operations import OPERATIONS
from store.hooks.event_names import HUB_EVENTS, PLATFORM_EVENTS

ROOT = Path(__file__).parents[4]
FOLDER = ROOT / generate.FOLDER


def page(name: str) -> str:
    return (FOLDER / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", generate.PAGES)
def test_a_page_is_up_to_date(name: str) -> None:
    made = generate.PAGES[name]()
    assert page(name) == made, "run `python -m hub.cli.manual.generate`"


def test_every_page_is_written(tmp_path: Path) -> None:
    generate.write(tmp_path / "reference")
    assert {one.stem for one in tmp_path.glob("reference/*.md")} == set(generate.PAGES)


def test_every_setting_has_a_heading_and_its_variable() -> None:
    text = page("settings")
    for setting in all_settings():
        assert f"\n### {setting.name}\n" in text
        assert f"`{setting.environment}`" in text


@pytest.mark.parametrize(
    ("name", "bounds"),
    [
        ("port", "Integer from 0 to 65535."),
        ("timeout", "Number above 0, 120 at most."),
        ("keep_attempts", "Number above 0."),
        ("breaker", "Integer of 0 or more."),
        ("retries", "List of numbers from 0 to 604800."),
        ("base_url", "Text."),
    ],
)
def test_a_setting_has_the_bounds_of_its_value(name: str, bounds: str) -> None:
    section = page("settings").partition(f"\n### {name}\n")[2].partition("\n### ")[0]
    assert f"\n{bounds} Default: " in section


def test_every_command_has_a_heading_and_all_its_options() -> None:
    sections = dict(re.findall(r"^###? (.*)\n((?:(?!##).*\n)*)", page("commands"), re.MULTILINE))
    assert {f"tocsin {name}" for name in COMMANDS} <= sections.keys()
    for path, command, _ in all_commands():
        for one in command.params:
            for option in (name for name in one.opts if name.startswith("--")):
                assert f"{option}" in sections[path], f"{path} {option}"


def test_every_option_has_a_help_text() -> None:
    silent = [
        f"{path} {one.opts[0]}"
        for path, command, _ in all_commands()
        for one in command.params
        if isinstance(one, click.Option) and not one.help
    ]
    assert silent == []


def test_every_setting_is_described_on_its_own() -> None:
    """`tocsin help NAME` shows a setting's description without the settings beside it."""
    for setting in all_settings():
        assert not re.match("the same|then|them", setting.description), setting.name


def test_every_operation_has_a_section_with_its_line_and_its_events() -> None:
    sections = dict(
        re.findall(r"^### (.*)\n((?:(?!###? ).*\n)*)", page("operations"), re.MULTILINE)
    )
    for operation in OPERATIONS:
        text = sections[title_of(operation.id)]
        assert f"\n{operation.method} {operation.path}\n" in text
        assert all(f"`{event}`" in text for event in operation.emits)
    for line, door in OTHER_ENDPOINTS.items():
        assert f"\n{line}\n" in sections[title_of(door.name)]
    assert len(sections) == len(OPERATIONS) + len(OTHER_ENDPOINTS)


def test_the_anchor_of_each_operation_is_the_slug_of_its_heading() -> None:
    names = [one.id for one in OPERATIONS] + [door.name for door in OTHER_ENDPOINTS.values()]
    assert [slug(title_of(one)) for one in names] == [operation_anchor(one) for one in names]
    assert {operation_anchor(one) for one in names} <= manual().pages[
        "reference/operations"
    ].anchors


def test_every_event_and_every_action_is_there() -> None:
    text = page("events")
    for name in PLATFORM_EVENTS | HUB_EVENTS:
        assert f"| `{name}` |" in text or f"\n### {name}\n" in text
    for whose in ("a repository or an organization or ", "an organization or ", ""):
        assert f"\nA hook of {whose}the whole installation can have it.\n" in text
    for event in published():
        name, _, action = event.partition(".")
        own = text.partition(f"\n### {name}\n")[2].partition("\n### ")[0]
        row = own or next(one for one in text.splitlines() if one.startswith(f"| `{name}` |"))
        assert f"`{action}`" in row or not action, event


def test_every_metric_and_exit_code_is_there() -> None:
    for metric in all_metrics():
        assert f"| `{metric.name}` |" in page("metrics")
    for code in CODES:
        assert f"| `{code}` |" in page("exit-codes")


def test_every_key_of_the_state_document_is_there() -> None:
    for key in StateDocument.model_fields:
        assert f"\n## {key}\n" in page("state-document")


def test_every_header_that_is_sent_is_there() -> None:
    text = page("headers").lower()
    named = [*cors.EXPOSED.split(", "), *(name for name, _ in EVENT_HEADERS)]
    prefixed: list[str] = []
    for module in (ROOT / "worker" / "delivery").glob("*.py"):
        source = module.read_text(encoding="utf-8")
        named += re.findall(r"\b(webhook-[a-z]+|X-Hub-[A-Za-z0-9-]+): ", source)
        prefixed += re.findall(r"{prefix}([A-Za-z-]+): ", source)
    named += [f"X-Service-{one}" for one in prefixed]
    assert len(named) > 30
    assert [name for name in named if f"| `{name.lower()}` |" not in text] == []
    assert [name for name in prefixed if f"| also `x-github-{name.lower()}`: " not in text] == []


def test_every_kind_of_error_has_a_heading() -> None:
    assert set(STATUSES) - set(HEADINGS) == set()
    anchors = manual().pages["reference/errors"].anchors
    assert {one.anchor for one in all_headings()} <= anchors
