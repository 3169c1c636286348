"""The delivery options in the form of a hook."""

import math
from dataclasses import dataclass
from typing import Any

import orjson

from store.formats.formats import FORMATS
from store.hooks import batch_options


@dataclass(frozen=True, slots=True)
class OptionField:
    """A field of DeliveryOptions (store.hooks.hook_options). If empty, the settings apply."""

    name: str
    label: str
    hint: str
    example: str
    is_whole: bool = False
    is_list: bool = False
    choices: tuple[str, ...] = ()
    is_long: bool = False
    """Whether the field has several lines."""

    @property
    def mode(self) -> str:
        """Return the keyboard that a phone shows for the field."""
        return "text" if self.is_list else "decimal"

    def parse(self, text: str) -> Any:
        """Return the option's value: None for an empty text, and the text if it is no number."""
        if not text.strip():
            return None
        if self.is_list:
            return [self._number(part) for part in text.replace(",", " ").split()]
        return self._number(text)

    def _number(self, text: str) -> Any:
        try:
            number = float(text)
            value = int(text) if self.is_whole else number
        except ValueError:
            return text.strip()
        return value if math.isfinite(number) else text.strip()

    def text(self, value: Any) -> str:
        if value is None:
            return ""
        return ", ".join(map(_plain, value)) if self.is_list else _plain(value)


class TextOption(OptionField):
    """An option that is a text."""

    @property
    def mode(self) -> str:
        return "text"

    def parse(self, text: str) -> Any:
        return text.strip() or None

    def text(self, value: Any) -> str:
        return "" if value is None else str(value)


class WordsOption(TextOption):
    """An option that is a list of words."""

    def parse(self, text: str) -> Any:
        return text.replace(",", " ").split() or None

    def text(self, value: Any) -> str:
        return ", ".join(value or ())


class OrderingOption(TextOption):
    """An option that is a word, or the path to a member of the payload."""

    def parse(self, text: str) -> Any:
        found = text.strip()
        return {"path": found} if found.startswith("/") else found or None

    def text(self, value: Any) -> str:
        return str(value["path"]) if isinstance(value, dict) else super().text(value)


class BatchOption(TextOption):
    """An option that is a list of limits, such as `max_events=50, max_wait=2`."""

    def parse(self, text: str) -> Any:
        return batch_options.parse(text) if text.strip() else None

    def text(self, value: Any) -> str:
        return batch_options.text(value) if isinstance(value, dict) else super().text(value)


class JsonOption(TextOption):
    """An option that is a JSON object."""

    def parse(self, text: str) -> Any:
        try:
            return orjson.loads(text) if text.strip() else None
        except orjson.JSONDecodeError:
            return text.strip()

    def text(self, value: Any) -> str:
        if value is None:
            return ""
        return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()


def _plain(value: float) -> str:
    return f"{value:.15g}"


OPTIONS = (
    OptionField(
        "retries",
        "Retry schedule",
        "Seconds to wait before each attempt. The first is 0.",
        "0, 60, 600, 3600",
        is_list=True,
    ),
    OptionField("timeout", "Timeout", "Seconds for one attempt, at most 120.", "10"),
    OptionField("rate", "Rate", "Requests a second at most, from each worker.", "5"),
    OptionField("concurrency", "Concurrency", "Requests at the same time.", "8", is_whole=True),
    OptionField(
        "breaker",
        "Circuit breaker",
        "Failures in a row that open it. 0 never opens it.",
        "10",
        is_whole=True,
    ),
    OptionField(
        "disable_after",
        "Disable after",
        "Seconds of failure after which the hook is disabled. 0 never disables it.",
        "432000",
    ),
    OrderingOption(
        "ordering",
        "Ordering",
        "none, hook, repository, or the path to a member, for each value of it.",
        "/pull_request/id",
    ),
    TextOption(
        "on_exhausted",
        "When an ordered delivery died",
        "The next one follows (skip), or waits for an operator (block).",
        "",
        choices=("skip", "block"),
    ),
    OptionField(
        "max_block",
        "Longest wait for one",
        "Seconds for which one delivery is retried while others wait for it.",
        "3600",
    ),
    WordsOption(
        "signatures",
        "Signatures",
        "Any of sha256, sha1, v1 and v1a. v1a is by a key of the hook's own.",
        "sha256, sha1, v1",
    ),
    TextOption("format", "Format", "The form of the body.", "", choices=FORMATS),
    TextOption("type_prefix", "Prefix of types", "How CloudEvents' types begin.", "com.example"),
    TextOption(
        "propagate",
        "Trace context",
        "Whether the receiver gets the headers traceparent and tracestate of events.",
        "",
        choices=("always", "never"),
    ),
    BatchOption(
        "batch",
        "Batches",
        "Several deliveries in one request: on, or limits. A wait is in seconds.",
        "max_events=50, max_bytes=500000, max_wait=2",
    ),
    JsonOption(
        "filter",
        "Filter",
        "Conditions on the payload, as JSON, or an expression in CEL as the member cel."
        " Other events are not delivered.",
        '{"payload": {"ref": {"$startsWith": "refs/tags/"}}}',
        is_long=True,
    ),
)
