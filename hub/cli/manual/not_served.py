"""The page `reference/not-served.md`: the families of paths that the server does not serve."""

from hub.cli.manual.markdown import page
from hub.openapi.not_served import FAMILIES

INTRODUCTION = """\
Answers have the URLs that the platform's answers have. Every URL that names one of the
[operations](operations.md) leads there. The paths on this page exist on the platform, and this
server does not have them. It answers a GET with 404, and `documentation_url` names this page.
Other paths that are not among the operations answer 404 too."""


def not_served() -> str:
    parts = ["# Not served", INTRODUCTION]
    for family in FAMILIES:
        paths = "\n".join(f"- `{path.replace('{*', '{')}`" for path in family.paths)
        parts += [f"## {family.title}", family.text, paths]
    return page(*parts)
