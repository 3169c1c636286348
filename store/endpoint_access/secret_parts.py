"""The secret values in delivery options, apart from the rest.

A hook's row has the options with asterisks in place of secret values, and the values themselves
encrypted. So code that shows the options cannot show a secret.
"""

from typing import Any

from store.endpoint_access import static_headers
from store.errors import Invalid

MASK = "********"
GROUPS = ("headers", "tls", "oauth2")
"""The options that may have secret members."""

SECRET_MEMBERS = frozenset({"client_key", "client_secret", "private_key"})

Options = dict[str, Any]
Secrets = dict[str, dict[str, str]]
"""The secret values by option and member."""


def _is_secret(group: str, member: str) -> bool:
    if group == "headers":
        return static_headers.is_secret(member)
    return member in SECRET_MEMBERS


def split(options: Options) -> tuple[Options, Secrets]:
    """Return the options with asterisks, and the secret values."""
    shown, secrets = dict(options), {}
    for group in GROUPS:
        members = options.get(group) or {}
        hidden = {
            name: value
            for name, value in members.items()
            if value is not None and _is_secret(group, name)
        }
        if hidden:
            secrets[group] = hidden
            shown[group] = members | dict.fromkeys(hidden, MASK)
    return shown, secrets


def join(shown: Options, secrets: Secrets) -> Options:
    """Return the options with their secret values, which `split` has separated."""
    return shown | {group: shown[group] | hidden for group, hidden in secrets.items()}


def kept(options: Options) -> list[tuple[str, str]]:
    """Return the option and the member of each value that is asterisks: the stored one is meant."""
    return [
        (group, name)
        for group in GROUPS
        for name, value in (options.get(group) or {}).items()
        if value == MASK and _is_secret(group, name)
    ]


def resolve(options: Options, before: Secrets) -> Options:
    """Return the options with stored values in place of asterisks. Raises Invalid without one."""
    stored: Secrets = {}
    for group, name in kept(options):
        value = before.get(group, {}).get(name)
        if value is None:
            raise Invalid(
                f"asterisks mean the stored value, and the hook has none for {name}",
                field=group,
                resource="Hook",
            )
        stored.setdefault(group, {})[name] = value
    return join(options, stored)
