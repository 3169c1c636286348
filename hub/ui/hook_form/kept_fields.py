"""The fields of a form that could not be accepted, on the page that sends them again."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from hub.ui.hook_form import access
from store.endpoint_access import static_headers

SECRETS = {
    "own_secret": "Your own secret",
    "vcs_password": "Password or token",
    **{one.name: one.label for one in access.FIELDS.values() if one.is_secret},
}
"""The labels of the fields whose values no page shows."""


@dataclass(frozen=True, slots=True)
class KeptField:
    """A field with its value. If it has a `label`, the value is a secret that is entered again."""

    name: str
    value: str = field(default="", repr=False)
    label: str = ""
    is_long: bool = False


def fields(pairs: Iterable[tuple[str, str]]) -> list[KeptField]:
    """Return the fields, in their order. Secrets are left out, as in the forms themselves."""
    pairs, found = list(pairs), []
    headers = iter([value for name, value in pairs if name == access.HEADER_NAME])
    for name, value in pairs:
        label = SECRETS.get(name, "")
        if name == access.HEADER_VALUE and static_headers.is_secret(header := next(headers, "")):
            label = f"Value of header {header}"
        if label and value:
            long = name in access.FIELDS and access.FIELDS[name].is_long
            found.append(KeptField(name, label=label, is_long=long))
        else:
            found.append(KeptField(name, value))
    return found
