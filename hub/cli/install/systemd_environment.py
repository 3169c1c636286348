"""The environment file of the units, from the settings."""

import textwrap
from collections.abc import Iterator
from typing import Any

import orjson

from hub.cli.service.configuration import Setting, Settings, all_settings

HEAD = """\
# Settings of tocsin, each at its default: take away the `#` to change one, then restart. What is
# set here comes before /etc/tocsin/tocsin.toml, which is where a setting belongs that is to be
# changed by `systemctl reload`. Lists are JSON or separated by commas, tables are JSON; what is
# empty counts as not set.
"""
# What the units set in place of the default, and what else there is to know with them.
IN_UNITS = {
    "data_dir": ("/var/lib/tocsin", "the units set this one"),
    "key_file": ("", "the units set the credential `secret.key`, from /etc/tocsin/secret.key"),
    "host": (None, "where tocsin.socket is in use, its ListenStream= says this"),
    "port": (None, "where tocsin.socket is in use, its ListenStream= says this"),
}
WIDTH = 98


def environment() -> str:
    """The file's text."""
    return "\n".join([HEAD, *(line for each in all_settings() for line in _lines(each))])


def _lines(setting: Setting) -> Iterator[str]:
    value, note = IN_UNITS.get(setting.name, (None, ""))
    text = f"{setting.description} ({setting.kind})" + (f"; {note}" if note else "")
    yield from textwrap.wrap(text, WIDTH, initial_indent="# ", subsequent_indent="# ")
    yield f"#{setting.environment}={_value(setting.name) if value is None else value}"
    yield ""


def _value(name: str) -> str:
    field = Settings.model_fields[name]
    default = field.get_default(call_default_factory=True, validated_data={})
    return "" if default is None else _quoted(_text(default))


def _text(value: Any) -> str:
    if isinstance(value, bool | list | dict):
        return orjson.dumps(value).decode()
    if isinstance(value, float):
        return f"{value:g}" if abs(value) < 1_000_000 else str(int(value))
    return str(value)


def _quoted(text: str) -> str:
    """As systemd.exec(5) reads it; within single quotes all stands for itself."""
    assert "'" not in text
    return f"'{text}'" if set(text) & set(' "\\#;$`') else text
