"""The options that commands share, and the store that they open."""

import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import click

from hub.cli.console import output, streams, times
from hub.cli.console.arguments import PATH
from hub.cli.service.audit_actor import AuditHook
from hub.cli.service.configuration import Configuration, Settings, configure
from hub.cli.service.daemon_record import effective
from store import Store, open_store

P = ParamSpec("P")
T = TypeVar("T")
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

# The issuer that an authenticator app shows beside a user's one-time passwords.
ISSUER = "tocsin"

CONFIG = click.option(
    "--config",
    type=PATH,
    help="Settings file (TOML).  [default: $TOCSIN_CONFIG, or else the first that exists of"
    " /etc/tocsin/tocsin.toml and ./tocsin.toml]",
)
DATA_DIR = click.option(
    "--data-dir", type=PATH, help="The data directory.  [default: the setting data_dir]"
)
STORE = click.option(
    "--store", "store_url", metavar="URL", help="The database.  [default: the setting store]"
)

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
yes = click.option("--yes", is_flag=True, help="Remove it without asking.")


def together(*options: Decorator) -> Decorator:
    """Return a decorator that gives a command these options, in this order."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def _in_utc(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    ctx.meta[times.IN_UTC] = value


utc = click.option(
    "--utc",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_in_utc,
    help="Show times in UTC, not in local time.",
)


listing = together(as_json, utc)
"""The options of a command that shows rows."""
limit = click.option(
    "--limit",
    type=click.IntRange(1, 10_000),
    default=50,
    show_default=True,
    help="Show at most this many, the newest.",
)


def configured(command: Callable[Concatenate[Configuration, P], T]) -> Callable[..., T]:
    """Pass the configuration to a command as its first argument.

    The configuration comes from these options and from all other sources of settings.
    """

    @CONFIG
    @DATA_DIR
    @STORE
    @wraps(command)
    def run(
        *args: Any,
        config: Path | None,
        data_dir: Path | None,
        store_url: str | None,
        **kwargs: Any,
    ) -> T:
        given = {"data_dir": data_dir, "store": store_url}
        return command(effective(configure(given, config)), *args, **kwargs)

    return run


def with_store(command: Callable[Concatenate[Store, P], T]) -> Callable[..., Any]:
    """Pass the store of an existing installation to a command as its first argument."""

    @configured
    @wraps(command)
    def run(configuration: Configuration, *args: Any, **kwargs: Any) -> T:
        with opening(configuration.settings) as store:
            return command(store, *args, **kwargs)

    return run


def listing_of_store(command: Callable[Concatenate[Store, P], T]) -> Callable[..., Any]:
    """Pass the store to a command that shows rows, with the options of `listing`."""
    return listing(with_store(command))


def opened(settings: Settings, *, create: bool, upgrade: bool = True) -> Store:
    """Open the store of these settings.

    The store records the running command in the audit log when the command changes something. If
    `create` is true and there is no installation, create one; if `upgrade` is true too, migrate an
    older database.
    """
    store = open_store(
        settings.store,
        data_dir=settings.data_dir,
        key_file=settings.key_file,
        create=create,
        upgrade=upgrade,
    )
    store.audit_hook = AuditHook()
    return store


@contextmanager
def opening(settings: Settings) -> Iterator[Store]:
    """Open the store of an existing installation for the length of the block."""
    store = opened(settings, create=False)
    try:
        yield store
    finally:
        store.shut()


def read_secret(prompt: str, *, twice: bool = False) -> str:
    """Read a secret from standard input, without echo if that is a terminal.

    Raises UsageError if the input is empty: then the program before the pipe has failed. An empty
    line is an empty secret.
    """
    if sys.stdin.isatty():
        given: str = click.prompt(prompt, hide_input=True, confirmation_prompt=twice)
        return given
    try:
        line = sys.stdin.readline()
    except UnicodeDecodeError:
        line = "\udcff"
    if streams.undecoded(line):
        raise click.UsageError("standard input is not UTF-8")
    if not line:
        raise click.UsageError(f"standard input is empty: write the {prompt} to it")
    return line.rstrip("\r\n")


def given_secret(secret: str | None) -> str | None:
    """Return a secret from the command line. `-` reads it from standard input."""
    if secret is None or secret.strip() != "-":
        return secret
    return read_secret("secret")


def new_secret(secret: str | None) -> tuple[str, bool]:
    """Return the secret from the command line or a random one, and whether it is random."""
    given = given_secret(secret)
    return (secrets.token_hex(32), True) if given is None else (given, False)


def show_secret(value: str, whose: str = "its") -> None:
    """Print a random secret. This is the only time that it is shown."""
    click.echo(value)
    output.print_note(f"this is {whose} secret, which is not shown again")
