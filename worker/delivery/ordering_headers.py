"""The headers of requests to ordered hooks."""

from urllib.parse import quote

from store.database.notifications import Turn

# All other characters of a key are percent-encoded: a header is printable ASCII without spaces.
SAFE = "!#$&'()*+,-./:;<=>?@[]^_`{|}~"


def ordering_lines(turn: Turn, *others: Turn) -> str:
    """Return the header lines that tell a receiver the place of a delivery.

    `others` are the deliveries of the same key that follow it in a batch.
    """
    lines = [f"webhook-ordering-key: {quote(turn.key, safe=SAFE)}\r\n"] if turn.key else []
    if turn.sequence is not None:
        sequence = ", ".join(str(one.sequence) for one in (turn, *others))
        lines.append(f"webhook-sequence: {sequence}\r\n")
    if turn.out_of_turn:
        lines.append("webhook-redelivery: true\r\n")
    if turn.gap:
        lines.append(f"webhook-gap: {', '.join(turn.gap)}\r\n")
    return "".join(lines)


def with_ordering(head: str, turn: Turn, *others: Turn) -> str:
    """Return the head of a request with these lines at its end."""
    return f"{head[:-2]}{ordering_lines(turn, *others)}\r\n"
