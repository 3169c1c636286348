"""The settings of all parts, and the source of each value.

Command-line options come first, then environment variables, then the TOML file, then defaults.
"""

import os
import re
import tomllib
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self, Union, get_args, get_origin

import orjson
from pydantic import ConfigDict, Field, SecretStr, ValidationError, model_validator
from pydantic.fields import FieldInfo

from hub.settings import HubSettings
from store.errors import Unusable, from_os_error
from store.named_file import read_file
from store.settings import StoreSettings, redact_url
from worker.settings import WorkerSettings

PREFIX = "TOCSIN_"
OTHER_VARIABLES = ("CONFIG", "LISTEN_SECRET", "LISTEN_SERVER", "LISTEN_TOKEN")
"""The names after PREFIX that commands read, and that are no settings."""
PLACES = (Path("/etc/tocsin/tocsin.toml"), Path("tocsin.toml"))
WORDS = {
    "float_parsing": "use a number",
    "int_parsing": "use a whole number",
    "int_from_float": "use a whole number",
    "bool_parsing": "use true or false",
}
"""Messages in place of pydantic's, which speak of its own parsing, by the kind of problem."""


# mypy's pydantic plugin gives each part a constructor of its own, and the constructors differ.
class Settings(HubSettings, WorkerSettings, StoreSettings):  # type: ignore[misc]
    """All settings. The constructor reads no environment and no file; `configure` does."""

    model_config = ConfigDict(extra="forbid", validate_default=True)

    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="the least severe level that is logged to standard error"
    )
    log_format: Literal["auto", "human", "json"] = Field(
        "auto",
        description="the log's format: for people (`human`), one JSON object a line (`json`), or "
        "`auto`: for people on a terminal and in the journal, and JSON elsewhere",
    )

    @model_validator(mode="after")
    def _can_start(self) -> Self:
        """Find the errors that a start would find in these settings alone."""
        # Imported here, because all commands read the settings and few installations change these.
        if self.allow_networks or self.callback_ports != _default("callback_ports"):
            from worker.http.guard import Guard

            Guard(allow_networks=self.allow_networks, ports=self.callback_ports).close()
        if self.store != _default("store"):
            from store.database.opening import is_server_url, sqlite_path

            try:
                if not is_server_url(self.store):
                    sqlite_path(self.store, self.data_dir)
            except Unusable as error:
                raise ValueError(str(error)) from None
        return self


def _default(name: str) -> Any:
    return Settings.model_fields[name].default


SECRETS = {
    name
    for name, field in Settings.model_fields.items()
    if SecretStr in (field.annotation, *get_args(field.annotation))
}
"""The settings whose values are never shown or recorded."""


def _environment() -> dict[str, Any]:
    """Return the settings from environment variables. An empty variable is not a setting."""
    named = {f"{PREFIX}{name}".upper(): name for name in Settings.model_fields}
    found: dict[str, Any] = {}
    for variable, text in os.environ.items():
        name = named.get(variable.upper())
        if text and name is not None:
            found[name] = _value(Settings.model_fields[name], text)
    return found


def unknown_variables() -> list[str]:
    """Return the environment variables that look like settings, and are none."""
    known = {*Settings.model_fields, *(name.lower() for name in OTHER_VARIABLES)}
    return sorted(
        name
        for name in os.environ
        if name.startswith(PREFIX) and name.removeprefix(PREFIX).lower() not in known
    )


def _value(field: FieldInfo, text: str) -> Any:
    """Convert a variable's text. A list is JSON or separated by commas, and a table is JSON."""
    if _is_any_of(field.annotation, (list,)) and not text.lstrip().startswith("["):
        return [part.strip() for part in text.split(",")]
    if not _is_any_of(field.annotation, (list, dict)):
        return text
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text  # validation says what is wrong, and where


def _is_any_of(annotation: Any, kinds: tuple[type, ...]) -> bool:
    if get_origin(annotation) in (Union, types.UnionType):
        return any(_is_any_of(part, kinds) for part in get_args(annotation))
    return get_origin(annotation) in kinds


@dataclass(frozen=True, slots=True)
class Configuration:
    """The settings, and the source of each setting that is not a default."""

    settings: Settings
    origins: Mapping[str, str]


def configure(given: Mapping[str, Any], config: Path | None = None) -> Configuration:
    """Return the settings in effect.

    `given` holds the options of the command line. Raises Unusable, and names each wrong setting
    with its source, if the settings are invalid.
    """
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for origin, layer in _layers(given, config):
        for name, value in layer.items():
            values[name] = value
            origins[name] = f"{PREFIX}{name.upper()}" if origin is None else origin
    try:
        return Configuration(Settings(**values), origins)
    except ValidationError as error:
        raise Unusable("\n".join(_explained(error, origins))) from None


def _layers(
    given: Mapping[str, Any], config: Path | None
) -> Iterator[tuple[str | None, Mapping[str, Any]]]:
    """Yield each source and its values, the weakest first. None stands for the environment."""
    path = settings_file(config)
    if path is not None:
        yield str(path), _read(path)
    yield None, _environment()
    yield "command line", {name: value for name, value in given.items() if value is not None}


def settings_file(config: Path | None) -> Path | None:
    """Return the settings file that is in use: the given one, the named one, or a usual one."""
    named = config or os.environ.get(f"{PREFIX}CONFIG")
    if named:
        return Path(named)
    return next((path for path in PLACES if path.exists()), None)


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_file(path).decode())
    except OSError as error:
        raise from_os_error(f"cannot read the settings file {path}", error) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Unusable(f"the settings file {path} is not TOML: {error}") from None


def _explained(error: ValidationError, origins: Mapping[str, str]) -> Iterator[str]:
    for problem in error.errors():
        if not problem["loc"]:
            yield _about_several(explanation(problem, secret=True), origins)
            continue
        name, place = str(problem["loc"][0]), ".".join(map(str, problem["loc"]))
        origin = origins.get(name, "default")
        if problem["type"] == "extra_forbidden":
            yield f"{place}: there is no such setting (from {origin})"
        else:
            yield f"{place}: {explanation(problem, secret=name in SECRETS)} (from {origin})"


def _about_several(message: str, origins: Mapping[str, str]) -> str:
    """Return a message about several settings, with the sources of the ones that were set."""
    named = dict.fromkeys(re.findall(r"[a-z][a-z_]+", message))
    sources = [f"{name} is from {origins[name]}" for name in named if name in origins]
    return f"{message} ({', '.join(sources)})" if sources else message


def explanation(problem: Mapping[str, Any], *, secret: bool) -> str:
    """Return what is wrong with a value. The text has the value, unless that is secret or large."""
    value = None if secret else problem["input"]
    if isinstance(value, str):
        value = redact_url(value)
    message: str = WORDS.get(problem["type"]) or problem["msg"].removeprefix("Value error, ")
    if not isinstance(value, str | int | float) or repr(value) in message:
        return message
    return f"{message}, not {value!r}"
