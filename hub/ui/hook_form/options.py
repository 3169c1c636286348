"""The delivery options in the form of a hook."""

import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class OptionField:
    """A field of DeliveryOptions (store.hooks.hook_options). If empty, the settings apply."""

    name: str
    label: str
    hint: str
    example: str
    is_whole: bool = False
    is_list: bool = False

    def parse(self, text: str) -> Any:
        """Return the option's value: None for an empty text, and the text if it is no number."""
        if not text.strip():
            return None
        if self.is_list:
            return [self._number(part) for part in text.replace(",", " ").split()]
        return self._number(text)

    def _number(self, text: str) -> Any:
        try:
            value = int(text) if self.is_whole else float(text)
        except ValueError:
            return text.strip()
        return value if math.isfinite(value) else text.strip()

    def text(self, value: Any) -> str:
        """Return the text that the field shows for a value."""
        if value is None:
            return ""
        return ", ".join(map(_plain, value)) if self.is_list else _plain(value)


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
    OptionField("rate", "Rate", "Deliveries a second at most.", "5"),
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
)
