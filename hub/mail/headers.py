"""The policy for the headers of mails: links and ids are never folded or encoded.

The standard library encodes words that are longer than a line, and no mail program finds a link in
that.
"""

from email.headerregistry import HeaderRegistry, UnstructuredHeader
from email.policy import SMTP, Policy

WHOLE = ("list-unsubscribe", "message-id")


class WholeHeader(UnstructuredHeader):
    """A header in one line. Its value is ASCII without spaces."""

    name: str

    def fold(self, *, policy: Policy) -> str:
        """Return the line."""
        return f"{self.name}: {self}{policy.linesep}"


_REGISTRY = HeaderRegistry()
for _name in WHOLE:
    # The registry makes a header of this class and BaseHeader, which its types do not say.
    _REGISTRY.map_to_type(_name, WholeHeader)  # type: ignore[arg-type]
POLICY = SMTP.clone(header_factory=_REGISTRY)
