"""The fields in the form of a hook for the access to its endpoint.

They are static headers, a client certificate, and client credentials for access tokens. The form
never shows a secret value. If its field is empty, the stored value stays.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hub.http.forms import Form
from store import Row
from store.endpoint_access import oauth2, static_headers
from store.endpoint_access.secret_parts import MASK, SECRET_MEMBERS
from store.errors import Invalid

HEADER_NAME, HEADER_VALUE = "header_name", "header_value"
# The number of empty rows for more headers.
SPARE = 3
YES, NO = "yes", "no"


@dataclass(frozen=True, slots=True)
class AccessField:
    """A member of the delivery option `group`."""

    group: str
    member: str
    label: str
    hint: str = ""
    is_long: bool = False
    choices: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Return the name of the form's field."""
        return f"{self.group}_{self.member}"

    @property
    def is_secret(self) -> bool:
        """Return whether the form never shows the value."""
        return self.member in SECRET_MEMBERS


PEM = "A text in PEM."
FOR_ASSERTION = f"Only for {oauth2.ASSERTION}."
METHODS = (oauth2.BASIC, oauth2.POST, oauth2.ASSERTION)


def _pem(group: str, member: str, label: str, hint: str = "") -> AccessField:
    return AccessField(group, member, label, f"{PEM} {hint}".strip(), is_long=True)


TLS = (
    _pem("tls", "client_cert", "Client certificate", "Intermediate certificates follow it."),
    _pem("tls", "client_key", "Private key of the certificate"),
    _pem("tls", "ca", "Certificate authorities", "They are trusted in place of the system's."),
    AccessField(
        "tls",
        "verify_hostname",
        "Check the host name",
        "In the receiver's certificate; yes if empty.",
        choices=(YES, NO),
    ),
    AccessField("tls", "min_version", "Lowest version of TLS", choices=("1.2", "1.3")),
)
OAUTH2 = (
    AccessField("oauth2", "token_url", "Token URL", "Where access tokens are requested."),
    AccessField("oauth2", "client_id", "Client id"),
    AccessField("oauth2", "method", "Method", f"{oauth2.BASIC} if empty.", choices=METHODS),
    AccessField("oauth2", "client_secret", "Client secret"),
    AccessField("oauth2", "scope", "Scope"),
    AccessField("oauth2", "audience", "Audience"),
    AccessField("oauth2", "key_id", "Id of the private key", FOR_ASSERTION),
    _pem("oauth2", "private_key", "Private key", FOR_ASSERTION),
)
GROUPS = {"tls": TLS, "oauth2": OAUTH2}
OPTIONS = ("headers", *GROUPS)
"""The delivery options that these fields stand for."""
FIELDS = {one.name: one for fields in GROUPS.values() for one in fields}
LABELS = {one.name: one.label for one in FIELDS.values()} | {"headers": "Headers"}


@dataclass(frozen=True, slots=True)
class AccessFields:
    """The texts in the form, and the names of secret values that the hook has already."""

    headers: list[tuple[str, str]] = field(default_factory=list, repr=False)
    texts: Mapping[str, str] = field(default_factory=dict, repr=False)
    kept: frozenset[str] = frozenset()
    """The fields, and the names of headers in lower case, whose values are stored."""
    given: frozenset[str] = frozenset()
    """The options that the form has, so that it may change them."""

    def options(self) -> dict[str, Any]:
        """Return the delivery options. An option without a value is None."""
        found: dict[str, Any] = {name: self._group(name) for name in GROUPS if name in self.given}
        return found | ({"headers": self._headers()} if "headers" in self.given else {})

    def rows(self) -> list[tuple[str, str, bool]]:
        """Return each header's name and value, and whether the stored value stays if the field is
        empty.

        Secret values are left out, and some rows for more headers are added.
        """
        shown = [
            (name, "" if static_headers.is_secret(name) else value, name.lower() in self.kept)
            for name, value in self.headers
        ]
        spare = min(SPARE, static_headers.MOST_HEADERS - len(shown))
        return [*shown, *[("", "", False)] * spare]

    def text(self, one: AccessField) -> str:
        return "" if one.is_secret else self.texts.get(one.name, "")

    def is_used(self, group: str) -> bool:
        """Return whether an option has a value."""
        if group == "headers":
            return bool(self.headers)
        return any(self.texts.get(one.name) or one.name in self.kept for one in GROUPS[group])

    def forgotten(self) -> dict[str, str]:
        """Return a note, by field, for each entered secret, because the form does not repeat it."""
        names = [name for name, one in FIELDS.items() if one.is_secret and self.texts.get(name)]
        entered = [name for name, value in self.headers if value not in ("", MASK)]
        if any(map(static_headers.is_secret, entered)):
            names.append("headers")
        return dict.fromkeys(names, "Enter secret values again: the form does not repeat them.")

    def _headers(self) -> dict[str, str] | None:
        found: dict[str, str] = {}
        for name, value in self.headers:
            if name in found:
                raise Invalid(f"{name} is given twice", field="headers", resource="Hook")
            found[name] = MASK if not value and name.lower() in self.kept else value
        return found or None

    def _group(self, group: str) -> dict[str, Any] | None:
        found: dict[str, Any] = {}
        for one in GROUPS[group]:
            text = self.texts.get(one.name, "")
            if text:
                found[one.member] = text == YES if one.choices == (YES, NO) else text
        if not found:
            return None
        wanted = _secret_of(found, group)
        if wanted is not None and wanted not in found and f"{group}_{wanted}" in self.kept:
            found[wanted] = MASK
        return found


def _secret_of(members: Mapping[str, Any], group: str) -> str | None:
    """Return the secret member that belongs to the other members."""
    if group == "tls":
        return "client_key" if "client_cert" in members else None
    return "private_key" if members.get("method") == oauth2.ASSERTION else "client_secret"


def posted(form: Form, hook: Row | None) -> AccessFields:
    """Return the fields as they were posted. `hook` is None for a new hook."""
    before = stored({} if hook is None else hook["options"])
    names = [name.strip() for name in form.all(HEADER_NAME)]
    values = [value.strip() for value in form.all(HEADER_VALUE)]
    given = {group for group, fields in GROUPS.items() if fields[0].name in form}
    return AccessFields(
        headers=[pair for pair in zip(names, values, strict=False) if any(pair)],
        texts={
            name: _unchanged(_entered(form[name]), before.texts.get(name, ""))
            for name in FIELDS
            if name in form
        },
        kept=before.kept,
        given=frozenset(given | ({"headers"} if names else set())),
    )


def _entered(text: str) -> str:
    """Return a text with the ends of lines that it had before a browser sent it."""
    return text.replace("\r\n", "\n").strip()


def _unchanged(text: str, before: str) -> str:
    """Return the stored text if only outer spaces and ends of lines differ: then certificates are
    the same.
    """
    return before if text == _entered(before) else text


def stored(options: Mapping[str, Any]) -> AccessFields:
    """Return the fields for delivery options, whose secret values are asterisks."""
    members = [
        (one.name, (options.get(one.group) or {}).get(one.member)) for one in FIELDS.values()
    ]
    return AccessFields(
        headers=list((options.get("headers") or {}).items()),
        texts={name: _text(value) for name, value in members if value not in (None, MASK)},
        kept=_kept(options),
    )


def field_of(group: str, member: str, message: str) -> str:
    """Return the field of the form to which an error about an option belongs."""
    if group == "headers":
        return group
    fields = GROUPS[group]
    by_member = {one.member: one for one in fields}
    words = [member, *re.findall(r"\w+", message)]
    return next((by_member[word] for word in words if word in by_member), fields[0]).name


def _kept(options: Mapping[str, Any]) -> frozenset[str]:
    headers = (options.get("headers") or {}).items()
    names = {name.lower() for name, value in headers if value == MASK}
    members = {
        one.name
        for one in FIELDS.values()
        if (options.get(one.group) or {}).get(one.member) == MASK
    }
    return frozenset(names | members)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return YES if value else NO
    return str(value)
