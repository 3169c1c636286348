"""`tocsin hooks`: the hooks, their health and their delivery options."""

import secrets
from typing import Any

import click
from pydantic import ValidationError

from hub.cli.console import options, output, suggestions
from hub.cli.console.arguments import DurationType, FullNameType
from hub.cli.console.listing import Listing
from store import Connection, Row, Store
from store.delivery import hooks as kept
from store.delivery.hook_options import DeliveryOptions
from store.errors import Invalid


@click.group(cls=Listing)
def hooks() -> None:
    """List the hooks with their health (`list`, the default), or change a hook."""


@hooks.command("list")
@click.option("--repo", "full_name", type=FullNameType(), help="Only this repository.")
@options.as_json
@options.with_store
def show(store: Store, full_name: tuple[str, str] | None, as_json: bool) -> None:
    """List the hooks with their health."""
    rows = store.look(_rows, full_name)
    output.print_rows(
        rows, as_json=as_json, empty="no hooks: one is made by subscribing at POST /hub"
    )


def _rows(db: Connection, full_name: tuple[str, str] | None) -> list[Row]:
    found = kept.every(db)
    if full_name is not None:
        repo = options.repository(db, full_name)
        found = [row for row in found if row["repo_id"] == repo["id"]]
    last = kept.last_responses(db, [row["id"] for row in found])
    return [_shape(row, last.get(row["id"])) for row in found]


def _shape(row: Row, last: Row | None) -> Row:
    return {
        "id": row["id"],
        "repository": row["repository"],
        "url": row["url"],
        "events": row["events"],
        "content_type": row["content_type"],
        "signed": row["secret"] is not None,
        "two_secrets_until": output.format_time(row["previous_until"]),
        "state": "active" if row["active"] else row["disabled_reason"] or "inactive",
        "failing_since": output.format_time(row["failing_since"]),
        "last_response": None if last is None else last["error"] or last["status_code"],
        "options": row["options"],
    }


@hooks.command()
@click.argument("hook_id", type=int, shell_complete=suggestions.hook_ids)
@options.with_store
def enable(store: Store, hook_id: int) -> None:
    """Make a hook active, and clear the reason why it was disabled."""
    store.do(_change, hook_id, active=True)
    click.echo(f"hook {hook_id} is active")


@hooks.command()
@click.argument("hook_id", type=int, shell_complete=suggestions.hook_ids)
@options.with_store
def disable(store: Store, hook_id: int) -> None:
    """Make a hook inactive: it gets no new deliveries."""
    store.do(_change, hook_id, active=False)
    click.echo(f"hook {hook_id} is inactive")


def _change(db: Connection, /, hook_id: int, **changes: Any) -> Row:
    return kept.update(db, _hook(db, hook_id), **changes)


def _hook(db: Connection, hook_id: int) -> Row:
    found = kept.by_id(db, hook_id)
    if found is None or found["deleted_at"] is not None:
        raise options.missing(f"hook {hook_id}", "hooks")
    return found


@hooks.command("rotate-secret")
@click.argument("hook_id", type=int, shell_complete=suggestions.hook_ids)
@click.option(
    "--secret",
    help="The new one; `-` reads standard input.  [default: a random one, which is shown]",
)
@click.option("--overlap", type=DurationType(), default="24h", show_default=True,
              help="How long the old secret also signs: at most 7d; 0s for never.")  # fmt: skip
@click.option("--end", is_flag=True, help="End an overlap now; the current secret stays.")
@options.with_store
def rotate_secret(store: Store, hook_id: int, secret: str | None, overlap: int, end: bool) -> None:
    """Give a hook a new secret. For a while, deliveries have signatures by both secrets.

    X-Hub-Signature-256 is by the old secret until the receiver rejects it, and then by the new one.
    X-Hub-Signature-256-Alternate is by the other secret. webhook-signature always has both.
    """
    if end:
        store.do(_change, hook_id, overlap=0)
        click.echo(f"hook {hook_id}: only its current secret signs")
        return
    given = options.given_secret(secret)
    value = secrets.token_hex(32) if given is None else given
    if not value:
        raise Invalid("a new secret must have at least one character")
    row = store.do(_change, hook_id, secret=value, overlap=overlap)
    until = output.format_time(row["previous_until"])
    both = "" if until is None else f"; the old one also signs until {output.cell(until)}"
    if given is None:
        click.echo(value)
        output.print_note("this is the hook's secret, which is not shown again")
    output.print_note(f"hook {hook_id} has a new secret{both}")


@hooks.command("set")
@click.argument("hook_id", type=int, shell_complete=suggestions.hook_ids)
@click.option("--timeout", metavar="SECONDS", help="Timeout of a whole attempt.")
@click.option(
    "--retries", metavar="SECONDS,...", help="Delay before each attempt, including the first."
)
@click.option("--rate", metavar="NUMBER", help="Maximum of deliveries a second.")
@click.option("--concurrency", metavar="NUMBER", help="Maximum of concurrent requests.")
@click.option(
    "--breaker", metavar="NUMBER", help="Consecutive failures that pause it; 0 for never."
)
@click.option(
    "--disable-after", metavar="SECONDS", help="Disable it after failing this long; 0 for never."
)
@options.with_store
def change(store: Store, /, hook_id: int, **given: str | None) -> None:
    """Change the delivery options of a hook. The value `default` restores the setting."""
    changes = {name: value for name, value in given.items() if value is not None}
    if not changes:
        raise click.UsageError("say what to change, such as --timeout 5")

    def apply(db: Connection) -> Row:
        hook = _hook(db, hook_id)
        return kept.update(db, hook, options=_merged(hook["options"], changes))

    changed = store.do(apply)["options"]
    said = ", ".join(f"{name}={value}" for name, value in changed.items())
    click.echo(f"hook {hook_id}: {said or 'as in the settings'}")


def _merged(before: Row, changes: dict[str, str]) -> Row:
    merged: Row = dict(before)
    for name, value in changes.items():
        merged.pop(name, None)
        if value != "default":
            merged[name] = value.split(",") if name == "retries" else value
    try:
        return DeliveryOptions.model_validate(merged).model_dump(exclude_none=True)
    except ValidationError as error:
        raise Invalid("; ".join(_said(problem) for problem in error.errors())) from None


def _said(problem: Any) -> str:
    name, *rest = problem["loc"]
    where = f"{name}, number {rest[0] + 1}" if rest else str(name)
    return f"{where}: {problem['msg']}, not {problem['input']!r}"
