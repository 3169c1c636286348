"""The payload of an event: its body, in each form that hooks ask for."""

from dataclasses import dataclass, field
from typing import Protocol

from store.delivery.websub.publication import is_published
from store.delivery.websub.websub_topics import JSON
from store.formats.event_view import EventView, Json
from store.formats.formats import Rendered, render
from store.trace_context import TraceContext

# The characters that application/x-www-form-urlencoded does not escape.
UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._*")
# The memory of a payload and of a rendering beside their bytes, as measured with small ones.
ENTRY, RENDERING = 512, 320
# A body is form-encoded in pieces that fit into a processor's cache. One piece can take some
# milliseconds, so a body of several is encoded beside the event loop.
PIECE = 64 * 1024


def form_encode(body: bytes) -> bytes:
    """Return `body` as the value of the form parameter `payload`."""
    if len(body) <= PIECE:
        return b"payload=" + _escaped(body)
    pieces = (body[start : start + PIECE] for start in range(0, len(body), PIECE))
    return b"payload=" + b"".join(map(_escaped, pieces))


def _escaped(piece: bytes) -> bytes:
    """Return the bytes with escapes for those that a form cannot have.

    This makes one replacement for each byte value that needs it. It takes a fifth of the time of
    urllib's quoting.
    """
    # Escapes contain %, so % is replaced first. Spaces become + last, after every + was escaped.
    text = piece.replace(b"%", b"%25").replace(b"+", b"%2B")
    for byte in sorted(set(piece) - UNRESERVED - set(b"%+ ")):
        text = text.replace(bytes((byte,)), b"%%%02X" % byte)
    return text.replace(b" ", b"+")


@dataclass(slots=True)
class Payload:
    """An event's name, guid and body.

    `body` is JSON, or content of the media type `media`.
    """

    name: str
    guid: str
    body: bytes
    media: str = JSON
    accepted_at: int | None = None
    """The time at which the event was accepted, in microseconds."""
    republished: bool = False
    """Whether the event is a snapshot that was published again."""
    repo_id: int = 0
    """The event's repository, or 0."""
    installation_id: int | None = None
    """For the hook of an app: the installation that the body names."""
    trace: TraceContext | None = None
    """The place in a trace from which the event comes, or None."""
    keeper: "PayloadKeeper | None" = field(default=None, repr=False, compare=False)
    """The cache that counts its memory, or None."""
    repository: Json | None = None
    """The event's repository if the body has none, or else empty; None if it was not looked up."""
    _published: bool | None = None
    _form: bytes | None = None
    _rendered: dict[tuple[str, str, bool], Rendered] = field(default_factory=dict)

    @property
    def is_published(self) -> bool:
        """Return whether the topics of a public repository publish it. All subscribers ask."""
        if self._published is None:
            self._published = is_published(self.name, self.body)
        return self._published

    @property
    def memory(self) -> int:
        """Return about how many bytes it takes, with all forms that were built."""
        size = ENTRY + len(self.body)
        if self._form is not None:
            size += len(self._form)
        if self._rendered:
            size += sum(map(_memory, self._rendered.values()))
        return size

    def body_as(self, content_type: str) -> bytes:
        """Return the exact bytes for a hook's content type, which is `json` or `form`."""
        if content_type == "json":
            return self.body
        return self._form or self.keep_form(form_encode(self.body))

    @property
    def lacks_large_form(self) -> bool:
        """Return whether it was not encoded as a form yet, and takes long to be."""
        return self._form is None and len(self.body) > PIECE

    def keep_form(self, form: bytes) -> bytes:
        """Keep its encoding as a form, and return it."""
        self._form = form
        self._grow(len(form))
        return form

    def rendered(self, format_: str, prefix: str, now: int, *, traced: bool = True) -> Rendered:
        """Return the event in a format. `now` is its time if the time of arrival is not known.

        If `traced`, formats with a place for the trace context have it.
        """
        known = self._rendered.get((format_, prefix, traced))
        if known is None:
            trace = self.trace if traced else None
            event = EventView(self.name, self.guid, self.body, self.accepted_at or now, trace)
            event.own_repository = self.repository or {}
            known = self._rendered[format_, prefix, traced] = render(format_, event, prefix)
            self._grow(_memory(known))
        return known

    def _grow(self, size: int) -> None:
        if self.keeper is not None:
            self.keeper.grow(size)


def _memory(rendered: Rendered) -> int:
    return RENDERING + len(rendered.body) + len(rendered.headers)


class PayloadKeeper(Protocol):
    """A cache of payloads that counts their memory."""

    def grow(self, size: int) -> None: ...
