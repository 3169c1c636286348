"""The environment file of the systemd units, made from the settings."""

import textwrap
from collections.abc import Iterator
from typing import Any

import orjson

from hub.cli.service.configuration import Settings
from hub.cli.service.setting_list import Setting, all_settings, as_toml, default_of

HEAD = """\
# The settings of tocsin with their defaults. To change one, remove the `#`, then restart. A value
# here overrides /etc/tocsin/tocsin.toml. To change a setting with `systemctl reload`, set it in
# that file instead. Lists are JSON or separated by commas, and tables are JSON. An empty value
# counts as not set.
"""
# The values that the units set instead of the defaults, and notes on them.
IN_UNITS = {
    "data_dir": ("/var/lib/tocsin", "the units set this one"),
    "key_file": ("", "the units set the credential `secret.key`, from /etc/tocsin/secret.key"),
    "host": (None, "if tocsin.socket is used, its ListenStream= sets this"),
    "port": (None, "if tocsin.socket is used, its ListenStream= sets this"),
}
WIDTH = 98


def environment() -> str:
    """Return the text of the environment file: every setting, commented out, with its default."""
    return "\n".join([HEAD, *(line for each in all_settings() for line in _lines(each))])


def _lines(setting: Setting) -> Iterator[str]:
    value, note = IN_UNITS.get(setting.name, (None, ""))
    text = f"{setting.description} ({setting.kind})" + (f"; {note}" if note else "")
    yield from textwrap.wrap(text, WIDTH, initial_indent="# ", subsequent_indent="# ")
    yield f"#{setting.environment}={_value(setting.name) if value is None else value}"
    yield ""


def _value(name: str) -> str:
    default = default_of(Settings.model_fields[name])
    return "" if default is None else _quoted(_text(default))


def _text(value: Any) -> str:
    if isinstance(value, bool | list | dict):
        return orjson.dumps(value).decode()
    return as_toml(value) if isinstance(value, float) else str(value)


def _quoted(text: str) -> str:
    """Quote a value as systemd.exec(5) reads it. Single quotes keep every character as it is."""
    assert "'" not in text
    return f"'{text}'" if set(text) & set(' "\\#;$`') else text
