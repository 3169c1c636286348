"""The page `reference/errors.md`: the error responses of the API."""

from hub.cli.manual.markdown import fence, page
from hub.http.error_headings import HEADINGS, SERVER_ERROR, UNAVAILABLE, Heading
from hub.http.errors import STATUSES, MovedPermanently

INTRODUCTION = """\
An error of the API is a JSON object. `documentation_url` leads to this manual: to the operation,
or, if the cause is a general one, to a heading of this page. The header `X-Service-Request-Id` is
also in the log."""
EXAMPLE = """\
{
  "message": "Validation Failed",
  "errors": [
    {
      "resource": "Hook",
      "field": "url",
      "code": "custom",
      "message": "url must be an http or https URL"
    }
  ],
  "documentation_url": "https://hub.example/docs/reference/operations#repos-create-webhook",
  "status": "422"
}"""


def errors() -> str:
    parts = ["# Errors", INTRODUCTION, fence(EXAMPLE, "json")]
    for heading, statuses in all_headings().items():
        parts += [f"## {heading.title}", f"Status {statuses}. {heading.text}"]
    return page(*parts)


def all_headings() -> dict[Heading, str]:
    """Return the page's headings with their statuses, sorted by status."""
    found: dict[Heading, str] = {}
    for kind, heading in HEADINGS.items():
        if kind is MovedPermanently:
            found[heading] = "301 or 307"
        else:
            found[heading] = str(next(STATUSES[one] for one in kind.mro() if one in STATUSES))
    found[SERVER_ERROR] = "500"
    assert found[UNAVAILABLE] == "503"
    return dict(sorted(found.items(), key=lambda one: one[1]))
