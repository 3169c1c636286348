"""The policy for the headers of mails: links and ids stay whole, and a text is never decoded.

The standard library encodes words that are longer than a line, and no mail program finds a link in
that. It decodes encoded words, which may stand for line ends and so for more headers.
"""

from email.headerregistry import HeaderRegistry, UniqueUnstructuredHeader, UnstructuredHeader
from email.policy import SMTP, Policy
from typing import Any

WHOLE = ("list-unsubscribe", "message-id")


class WholeHeader(UnstructuredHeader):
    """A header in one line. Its value is ASCII without spaces."""

    name: str

    def fold(self, *, policy: Policy) -> str:
        return f"{self.name}: {self}{policy.linesep}"


class TextHeader(UniqueUnstructuredHeader):
    """A header with a text that may come from anybody. It has no encoded words (RFC 2047)."""

    @classmethod
    def parse(cls, value: str, kwds: dict[str, Any]) -> None:
        """Parse the text, with a space in the beginning of each encoded word."""
        super().parse(value.replace("=?", "= ?"), kwds)


_REGISTRY = HeaderRegistry()
for _name in WHOLE:
    # The registry makes a header of this class and BaseHeader, which its types do not say.
    _REGISTRY.map_to_type(_name, WholeHeader)  # type: ignore[arg-type]
_REGISTRY.map_to_type("subject", TextHeader)  # type: ignore[arg-type]
POLICY = SMTP.clone(header_factory=_REGISTRY)
