"""`tocsin hook`: the hooks, their health and their delivery options."""

from typing import Any

import click

from hub.cli.console import lookups, options, output, suggestions
from hub.cli.console.arguments import FullNameType, IdType
from hub.cli.console.grammar import noun
from hub.cli.traffic import hook_place
from store import Connection, Row, Store
from store.audit import audit_search
from store.crypto import ed25519
from store.delivery import attempts
from store.hook_state import hook_health
from store.hooks import hook_queries, signing_keys
from store.hooks import hooks as kept
from store.hooks.hook_targets import name_of, target_of
from store.ordering import operations
from store.pull import consumers

HOOK_ID = click.argument(
    "hook_id", metavar="ID", type=IdType(), shell_complete=suggestions.hook_ids
)


@noun(
    examples=[
        "tocsin hook list",
        "tocsin hook add ada/bell-tower https://receiver.example/hook",
        "tocsin hook add --org tower https://receiver.example/hook",
        "tocsin hook pause 1",
    ],
    former={"set": ("edit",)},
    lazy={
        "add": (
            "traffic.hook_edit:add",
            "Create a hook of a repository, an organization or everything.",
        ),
        "edit": ("traffic.hook_edit:edit", "Change a hook."),
        "remove": ("traffic.hook_state:remove", "Remove a hook."),
        "ping": (
            "traffic.hook_state:ping",
            "Send a ping to a hook, whether it subscribes to pings or not.",
        ),
        "pause": (
            "traffic.hook_state:pause",
            "Pause a hook: its deliveries wait until it is resumed.",
        ),
        "resume": (
            "traffic.hook_state:resume",
            "End the pause of a hook: what waits for it is sent now.",
        ),
        "retry": (
            "traffic.hook_state:retry",
            "Try what waits for a hook now, and not at its next attempt.",
        ),
        "silence": ("traffic.hook_state:silence", "Silence a hook for a time: it begins no alert."),
        "enable": (
            "traffic.hook_state:enable",
            "Make a hook active, and clear the reason why it was disabled.",
        ),
        "disable": (
            "traffic.hook_state:disable",
            "Make a hook inactive: it gets no new deliveries.",
        ),
        "rotate-key": (
            "traffic.hook_signing_key:rotate_key",
            "Give a hook a new key for the signature v1a.",
        ),
        "test-filter": (
            "traffic.hook_filter:test_filter",
            "Test the filter of a hook against an event.",
        ),
        "rotate-secret": ("traffic.hook_secret:rotate_secret", "Give a hook a new secret."),
        "ordering-keys": (
            "traffic.hook_ordering_keys:ordering_keys",
            "List the keys of an ordered hook that have something to send.",
        ),
        "skip": (
            "traffic.hook_ordering_keys:skip",
            "Give up the first delivery of a key, and go on.",
        ),
        "discard": (
            "traffic.hook_ordering_keys:discard",
            "Give up all deliveries that wait under a key.",
        ),
    },
)
def hook() -> None:
    """Create, change, pause and remove hooks, and see their health."""


@hook.command(
    "list",
    examples=[
        "tocsin hook list",
        "tocsin hook list --repo ada/bell-tower",
        "tocsin hook list --org tower",
    ],
)
@click.option("--repo", "full_name", type=FullNameType(), help="Only this repository.")
@hook_place.around
@options.listing_of_store
def list_hooks(
    store: Store,
    full_name: tuple[str, str] | None,
    organization: str | None,
    system: bool,
    as_json: bool,
) -> None:
    """List the hooks with their health.

    Without --repo, --org and --system, list all hooks. Only one of these can be given.
    """
    rows = store.read_sync(_rows, full_name, organization, system)
    output.print_rows(
        rows,
        as_json=as_json,
        empty="no hooks: `tocsin hook add OWNER/NAME URL` makes one, and so does POST /hub",
        columns=("id", "target", "url", "events", "state", "failing_since", "last_response"),
        spare=("events",),
    )


def _rows(
    db: Connection, full_name: tuple[str, str] | None, organization: str | None, system: bool
) -> list[Row]:
    found = hook_queries.every(db)
    target = hook_place.find(db, full_name, organization, system)
    if target is not None:
        found = [row for row in found if target_of(row) == target]
    last = attempts.last_responses(db, [row["id"] for row in found])
    return [_shape(row, last.get(row["id"])) for row in found]


def _shape(row: Row, last: Row | None) -> Row:
    return {
        "id": row["id"],
        "target": name_of(row),
        "kind": target_of(row).kind,
        **output.copied(row, "repository, organization, url, events, content_type"),
        "signed": row["secret"] is not None or signing_keys.is_wanted(row["options"]),
        "two_secrets_until": output.format_time(row["previous_until"]),
        "state": state_of(row),
        "paused_at": output.format_time(row["paused_at"]),
        "failing_since": output.format_time(row["failing_since"]),
        "last_response": None if last is None else last["error"] or last["status_code"],
        "options": row["options"],
    }


def state_of(row: Row) -> str:
    """Return whether a hook is active, paused or inactive, or why it was disabled or paused."""
    if not row["active"]:
        return f"disabled: {row['disabled_reason']}" if row["disabled_reason"] else "inactive"
    if row["paused_at"] is None:
        return "active"
    return f"paused: {row['pause_reason']}" if row["pause_reason"] else "paused"


@hook.command(examples=["tocsin hook show 1"])
@HOOK_ID
@options.listing_of_store
def show(store: Store, hook_id: int, as_json: bool) -> None:
    """Show a hook with its options and what waits for it."""
    output.print_record(store.read_sync(_details, hook_id), as_json=as_json)


def _details(db: Connection, hook_id: int) -> Row:
    row, health = find(db, hook_id), hook_health.get(db, hook_id)
    assert health is not None, "read in the same transaction"
    last = attempts.last_responses(db, [hook_id]).get(hook_id)
    off_by = audit_search.switched_off_by(db, row)
    return {
        **_shape(
            row | {name: health[name] for name in ("repository", "organization", "app")}, last
        ),
        "off_since": output.format_time(row["off_since"]),
        "off_by": off_by and off_by["actor"],
        "insecure_ssl": bool(row["insecure_ssl"]),
        "public_keys": [_public_key(one) for one in signing_keys.public_keys(db, hook_id)],
        "certificate_ends_at": output.format_time(row["certificate_ends_at"]),
        "silenced_until": output.format_time(health["silence"] and health["silence"]["ends_at"]),
        "handshake": row["handshake"],
        "handshake_rate": row["handshake_rate"],
        "waiting": health["waiting"],
        "filtered": health["filtered"],
        "next_at": output.format_time(_next_at(row, health)),
        "held_until": output.format_time(health["held_until"]),
        "circuit_open_until": output.format_time(health["resting_until"]),
        "ordering": operations.overview(db, hook_id),
        "consumers": [_consumer(one) for one in consumers.of_hook(db, hook_id)],
        "created_at": output.format_time(row["created_at"]),
        "updated_at": output.format_time(row["updated_at"]),
    }


def _next_at(row: Row, health: Row) -> int | None:
    """Return the earliest time at which the hub tries a delivery of a hook, or None."""
    if row["paused_at"] or not row["active"] or health["next_at"] is None:
        return None
    next_at: int = max(health["next_at"], health["resting_until"] or 0, health["held_until"] or 0)
    return next_at


def _consumer(row: Row) -> Row:
    return {
        "name": row["name"],
        "attached": row["attached"],
        "since": output.format_time(row["since"]),
        "last_seen": output.format_time(row["seen_at"]),
        "leases": row["leases"],
    }


def _public_key(row: Row) -> str:
    return ed25519.write_public(signing_keys.public_bytes(row))


def find(db: Connection, hook_id: int) -> Row:
    """Return the hook with this id. Raises Missing if there is none or it was removed."""
    found = kept.by_id(db, hook_id)
    if found is None or found["deleted_at"] is not None:
        raise lookups.missing(f"hook {hook_id}", "hook list")
    return found


def change(db: Connection, /, hook_id: int, **changes: Any) -> Row:
    """Change fields of the hook with this id. Raises Missing if there is none."""
    return kept.update(db, find(db, hook_id), **changes)
