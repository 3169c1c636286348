"""The forms of texts in Markdown: as they were written, without markup, and rendered.

The media type of a request decides which of them a response has.
"""

from dataclasses import dataclass, field

from hub.http.media import PLAIN, Media
from hub.rest.operation import Forms
from store import Connection
from store.repositories.markdown import RenderedText, source_as_html

FORMS: Forms = {"media": ("raw", "text", "html", "full"), "family": ""}
MOST_RENDERED = 512 * 1024
"""How many characters one response may render. Longer texts show their source."""


@dataclass(slots=True)
class BodyForms:
    """Serializes the texts of one response in the requested form."""

    media: Media = PLAIN
    _left: int = field(default=MOST_RENDERED, init=False)

    def prepare(self, db: Connection) -> None:
        """Move a read that will render texts from the event loop to a thread.

        Call it first: the read then begins anew.
        """
        if self._renders:
            db.require_thread()

    @property
    def _renders(self) -> bool:
        return self.media.param in ("text", "html", "full")

    def members(self, text: str | None) -> dict[str, str | None]:
        """Return the members of a text: `body`, `body_text` and `body_html`, or some of them."""
        if not self._renders:
            return {"body": text}
        html, plain = (None, None) if text is None else self._rendered(text)
        found = {"body": text, "body_text": plain, "body_html": html}
        if self.media.param == "full":
            return found
        name = f"body_{self.media.param}"
        return {name: found[name]}

    def _rendered(self, text: str) -> tuple[str, str]:
        self._left -= len(text)
        if self._left < 0:
            return source_as_html(text), text
        shown = RenderedText(text)
        return shown.html, shown.text
