"""Hooks that schemathesis loads: adjustments that its settings file cannot express."""

import gc
import hashlib
import hmac
import os
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import requests
import schemathesis
import schemathesis.specs.openapi.coverage._schema as coverage
from requests.structures import CaseInsensitiveDict
from schemathesis.config import ProjectConfig
from schemathesis.engine import context as engine
from schemathesis.specs.openapi import converter

SECRET = os.environ.get("TOCSIN_SOURCE_SECRET", "")
# Lists whose `since` parameter is the id after which a page begins.
BY_ID = ("/repos/{owner}/{repo}/import/authors",)
UNSIGNED = "sha256=" + "0" * 64
"""A placeholder: `Signing` replaces it with the right signature."""


# Schemathesis writes the length limits of a string into its pattern. A regular expression with a
# larger count takes up to a second to compile, again for each schema that contains it.
MOST_COUNTED = 200


def _sparing(fold: Callable[..., str]) -> Callable[..., str]:
    def folded(pattern: str, least: int | None, most: int | None) -> str:
        return pattern if (most or 0) > MOST_COUNTED else fold(pattern, least, most)

    return folded


converter.update_quantifier = _sparing(converter.update_quantifier)  # type: ignore[attr-defined, assignment]


def _applied_sparingly(apply: Callable[..., None]) -> Callable[..., None]:
    def applied(schema: dict[str, Any], pattern: str, least: int | None, most: int | None) -> None:
        if (most or 0) <= MOST_COUNTED:
            apply(schema, pattern, least, most)

    return applied


# The coverage phase writes them into all definitions. It also does so when it makes a string, and
# this remains: a string of the greatest length comes from its pattern.
coverage.apply_rewritten_pattern = _applied_sparingly(coverage.apply_rewritten_pattern)  # type: ignore[attr-defined]

# The pattern of a string of some characters. All engines read it in the same way.
SOME_CHARACTERS = re.compile(r"\^(\[(?:[^]\\]|\\x)+\]\{[0-9][0-9,]*\})\$")


def _compiled_quickly(compiled: Callable[[str], Any]) -> Callable[[str], Any]:
    def matches(pattern: str) -> Callable[[str], Any]:
        # For a large count, the engine of schemathesis needs 0.4 seconds.
        counted = SOME_CHARACTERS.fullmatch(pattern)
        return re.compile(counted[1]).fullmatch if counted else compiled(pattern)

    return matches


# Otherwise schemathesis forgets patterns after 256 others, and compiles them again.
coverage.matches_pattern = cache(_compiled_quickly(coverage.matches_pattern))  # type: ignore[attr-defined]


def _by_itself(make: Callable[..., requests.Session]) -> Callable[..., requests.Session]:
    def made(*given: Any, **named: Any) -> requests.Session:
        session = make(*given, **named)
        # Otherwise each request reads the environment's proxies and the file with passwords.
        session.trust_env = False
        return session

    return made


engine.make_session = _by_itself(engine.make_session)


def _quick_pairs(pairs: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def found(value: Any) -> Any:
        # Otherwise requests asks a protocol, which takes as long as the rest of a small request.
        if isinstance(value, (dict, CaseInsensitiveDict)):
            return list(value.items())
        return pairs(value)

    return found


for module in (requests.sessions, requests.models):
    module.to_key_val_list = _quick_pairs(module.to_key_val_list)  # type: ignore[attr-defined]


def _found_once(find: Callable[..., Any]) -> Callable[..., Any]:
    """Keep what the settings say about an operation. Each request asks several times."""
    known: dict[tuple[object, ...], tuple[Any, Any]] = {}

    def found(config: Any, *, operation: Any = None, **more: Any) -> Any:
        key = (id(config), operation and operation.label, *more.items())
        if key not in known:
            # The configuration is kept, so that no other one gets its id.
            known[key] = config, find(config, operation=operation, **more)
        return known[key][1]

    return found


# Garbage collection takes a tenth of the time. A usual run makes fewer objects than this, and needs
# 20 MB more without it. A thorough run may make more, so there is a limit.
NEW_OBJECTS = 15_000_000


class Signing(requests.auth.AuthBase):
    """Signs a body as a source of events does."""

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if request.headers.get("X-Hub-Signature-256") == UNSIGNED:
            body = request.body or b""
            raw = body.encode() if isinstance(body, str) else body
            assert isinstance(raw, bytes)
            signed = hmac.digest(SECRET.encode(), raw, hashlib.sha256).hex()
            request.headers["X-Hub-Signature-256"] = f"sha256={signed}"
        return request


@schemathesis.serializer("application/x-ndjson")
def lines(context: Any, value: Any) -> bytes:
    """Serialize a value as text, because the document describes NDJSON as a string."""
    return str(value).encode(errors="replace")


@schemathesis.hook
def before_load_schema(context: Any, raw_schema: dict[str, Any]) -> None:
    """Change garbage collection in a hook, because the tests import this module as well."""
    gc.set_threshold(NEW_OBJECTS)
    for name in ("checks_config_for", "generation_for", "phases_for"):
        setattr(ProjectConfig, name, _found_once(getattr(ProjectConfig, name)))


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: dict[str, Any]) -> None:
    """Sign late, because the signature covers the bytes that are sent."""
    if case.operation.path in ("/events", "/usage"):
        kwargs["auth"] = Signing()


@schemathesis.hook
def filter_case(context: Any, case: Any) -> bool:
    """Return False for an invalid page parameter, which the server replaces by its default."""
    asked = case.query if isinstance(case.query, dict) else {}
    names = ("page", "per_page", "since") if case.operation.path in BY_ID else ("page", "per_page")
    return all(_is_number(asked.get(name, 1)) for name in names)


def _is_number(value: Any) -> bool:
    return type(value) is int and 1 <= value <= 100
