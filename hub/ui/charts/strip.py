"""The strip of a hook's latest attempts: a tall bar for a success, a short one for a failure."""

from collections.abc import Sequence

STEP = 6
TALL, SHORT = "1h4v18h-4z", "11h4v8h-4z"


def strip_path(outcomes: Sequence[bool], kind: bool) -> str:
    """Return the path of the bars of one kind, successes or failures.

    A page has a thousand bars. A template would take ten times as long for them.
    """
    bar = TALL if kind else SHORT
    return "".join(f"M{STEP * at} {bar}" for at, one in enumerate(outcomes) if one == kind)
