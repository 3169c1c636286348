"""The actor of a command in the audit log."""

import os
import pwd
import socket
from typing import Any

import click
from click.core import ParameterSource

from store import Connection
from store.audit import audit_log
from store.audit.audit_log import Actor, AuditEntry
from store.monitoring.name_search import host_of


class AuditHook:
    """Records the running command in the audit log, together with its first change."""

    def __init__(self) -> None:
        self.ids: dict[str, Any] = {}
        """Values to record beside the command's arguments."""
        self._written = False

    def __call__(self, db: Connection) -> None:
        context = click.get_current_context(silent=True)
        if context is None or self._written:
            return
        self._written = True
        audit_log.add(db, entry(context, "done", **self.ids))


def entry(context: click.Context, outcome: str, **ids: Any) -> AuditEntry:
    """Return the audit log entry for a command.

    It holds the values of arguments, but only the names of options, because an option can hold a
    secret. So can a URL among the arguments, of which only the host is held.
    """
    words = [_words(one, context.params[one.name or ""]) for one in _given(context, click.Argument)]
    options = [max(one.opts, key=len) for one in _given(context, click.Option)]
    return AuditEntry(
        actor(),
        " ".join(["tocsin", *context.command_path.split()[1:]]),
        " ".join(words),
        outcome,
        fields=tuple(options),
        ids={**ids, **({} if person() == _account() else {"as": _account()})},
    )


def actor(via: str = "command") -> Actor:
    """Return the user of this machine who runs this process, as USER@HOST.

    If root runs it with sudo, return the user who called sudo.
    """
    return Actor(f"{person()}@{socket.gethostname()}", via)


def _account() -> str:
    number = os.geteuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def person() -> str:
    """Return the name of the person who runs the command."""
    # Only root is trusted with SUDO_USER: any other user can set that variable. It may be no UTF-8.
    named = os.environ.get("SUDO_USER", "").encode(errors="backslashreplace").decode()
    return (os.geteuid() == 0 and named) or _account()


def _given(context: click.Context, kind: type[click.Parameter]) -> list[click.Parameter]:
    """Return the parameters that the command line contains, in the order of their declaration."""
    return [
        one
        for one in context.command.get_params(context)
        if isinstance(one, kind)
        and context.get_parameter_source(one.name or "") == ParameterSource.COMMANDLINE
    ]


def _words(argument: click.Parameter, value: Any) -> str:
    if argument.name == "hook_id":
        # As at the end of the API's paths: one search then finds all changes of the hook.
        return f"/hooks/{value}"
    if isinstance(value, tuple):
        # A tuple of a single argument holds the argument's parts: OWNER/NAME.
        return ("/" if argument.nargs == 1 else " ").join(_shown(str(part)) for part in value)
    return _shown(str(getattr(value, "name", value)))


def _shown(word: str) -> str:
    """Return a word, and of a URL only the host: its path or its query can be a secret."""
    scheme, is_url, rest = word.partition("://")
    if not is_url:
        return word
    host = host_of(word)
    return f"{scheme}://{host}" if rest == host else f"{scheme}://{host}/..."
