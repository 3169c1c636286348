"""The options of commands that are a hook's delivery options."""

from collections.abc import Callable
from typing import Any

import click
import orjson
from pydantic import ValidationError

from hub.cli.service.configuration import explanation
from hub.cli.traffic import endpoint_options
from hub.cli.traffic.endpoint_options import DEFAULT
from store import Row
from store.errors import Invalid
from store.formats.formats import FORMATS
from store.hooks import batch_options
from store.hooks.hook_options import DeliveryOptions

ORDERINGS = ("none", "hook", "repository")
MEMBERED = ("batch", "tls", "oauth2")
COMMON = {"extra_forbidden": "there is no such member", "missing": "it is missing"}
TEXTS = (
    ("--timeout", "SECONDS", "Timeout of a whole attempt."),
    ("--retries", "SECONDS,...", "Delay before each attempt; the first is 0."),
    ("--rate", "NUMBER", "Maximum of requests a second, from each worker."),
    ("--concurrency", "NUMBER", "Maximum of concurrent requests, from each worker."),
    ("--breaker", "NUMBER", "Consecutive failures that open the circuit; 0 for never."),
    ("--disable-after", "SECONDS", "Disable it after failing this long; 0 for never."),
    (
        "--signatures",
        "NAME,...",
        "Which of sha256, sha1, v1 and v1a are sent; v1a is made with a private key."
        "  [default: sha256,sha1,v1]",
    ),
    ("--format", "NAME", f"The form of the body: {', '.join(FORMATS)}.  [default: platform]"),
    ("--type-prefix", "NAME", "How the types of CloudEvents begin: com.github."),
    (
        "--propagate",
        "always|never",
        "Whether the receiver gets the trace context of events.  [default: always]",
    ),
    (
        "--filter",
        "JSON",
        'Conditions on an event; {"cel": "..."} is an expression in CEL. Other events are left'
        " out.",
    ),
    (
        "--ordering",
        "ORDER",
        "The deliveries that wait for each other: none, all (hook), the ones of a repository"
        " (repository), or with the same value at a path, such as /pull_request/id."
        "  [default: none]",
    ),
    (
        "--batch",
        "LIMITS",
        "Several deliveries in one request: `on`, or max_events=50,max_wait=2."
        "  [default: one by one]",
    ),
    (
        "--on-exhausted",
        "skip|block",
        "With an ordering: after a dead delivery, its key goes on (skip), or waits for you"
        " (block).  [default: skip]",
    ),
    (
        "--max-block",
        "SECONDS",
        "With an ordering: how long a delivery is retried while others wait for it.  [default:"
        " 3600]",
    ),
)
"""The flag, the metavar and the help of each option that is a plain text or has a reader."""
OPTIONS = (
    *(click.option(flag, metavar=metavar, help=text) for flag, metavar, text in TEXTS),
    *endpoint_options.OPTIONS,
    click.option(
        "--expire-idle",
        metavar="SECONDS",
        help="Remove the hook if no program fetches from it for this long. For pull hooks only."
        "  [default: never]",
    ),
)
"""The delivery options, which are named like the members of DeliveryOptions."""


def _ordering(text: str) -> Any:
    if text.startswith("/"):
        return {"path": text}
    if text not in ORDERINGS:
        raise Invalid(f"ordering: use {', '.join(ORDERINGS)} or a path, such as /a/b, not {text!r}")
    return text


def _filter(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise Invalid(f"filter: this is not JSON: {error}") from None


READERS: dict[str, Callable[[Any], Any]] = {
    "retries": lambda text: text.split(","),
    "signatures": lambda text: text.split(","),
    "filter": _filter,
    "headers": endpoint_options.read_headers,
    "batch": batch_options.parse,
    "ordering": _ordering,
}
"""The parsers of the options that are not plain text."""


def given_of(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the options that a command was given, by name, from its keyword arguments.

    The members of a group are in a dict under the group's name.
    """
    said = {name: value for name, value in arguments.items() if value is not None and value != ()}
    return endpoint_options.grouped(said)


def merged(before: Row, changes: dict[str, Any]) -> Row:
    """Return a hook's options after these changes. The value `default` removes an option.

    Raises Invalid if an option may not have its value.
    """
    found: Row = dict(before)
    for name, value in changes.items():
        former = found.pop(name, None)
        if name in endpoint_options.GROUPS:
            found[name] = endpoint_options.combined(former, value)
        elif value not in (DEFAULT, (DEFAULT,)):
            found[name] = READERS.get(name, str)(value)
    try:
        return DeliveryOptions.model_validate(found).model_dump(exclude_none=True)
    except ValidationError as error:
        said = [_said(problem) for problem in error.errors() if _is_about_the_value(problem)]
        raise Invalid("; ".join(said)) from None


def _is_about_the_value(problem: Any) -> bool:
    """Return whether a problem is about the option's value.

    For an ordering by a path, pydantic also reports that it is none of the names.
    """
    return problem["loc"][0] != "ordering" or not isinstance(problem["input"], dict)


def _said(problem: Any) -> str:
    name, *rest = problem["loc"]
    where = f"{name}, number {rest[0] + 1}" if name == "retries" and rest else str(name)
    where = f"{name}, {rest[0]}" if name in MEMBERED and rest else where
    if problem["type"] in COMMON:
        return f"{where}: {COMMON[problem['type']]}"
    return f"{where}: {explanation(problem, secret=name in endpoint_options.NAMES)}"
