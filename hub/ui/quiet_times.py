"""How long a problem is muted, or a hook silenced: the choices of their forms."""

from hub.ui.view_context import ViewContext
from store.clock import HOUR
from store.errors import Invalid

CHOICES = {"1": "1 hour", "8": "8 hours", "24": "1 day", "168": "7 days"}


def chosen(ctx: ViewContext) -> tuple[int, str]:
    """Return the end of the chosen time, in microseconds, and its length in words.

    Raises Invalid for anything that the form does not offer.
    """
    hours = ctx.form.get("hours", "")
    if hours not in CHOICES:
        raise Invalid("Choose for how long.")
    return ctx.now + int(hours) * HOUR, CHOICES[hours]
