"""Answers held against the contract's schemas, where the environment says where the contract is."""

import json
import os
import re
from functools import cache
from pathlib import Path
from typing import Any

import httpx
from jsonschema import Draft202012Validator, FormatChecker

CONTRACT = os.environ.get("TOCSIN_CONTRACT", "")


def hold(answer: httpx.Response, prefix: str) -> None:
    """A success has a status that is declared; what is declared has the body of its schema."""
    found = _declared(answer.request.method, answer.request.url.path.removeprefix(prefix))
    if found is None:
        return
    path, method = found
    responses = _contract()["paths"][path][method]["responses"]
    if str(answer.status_code) not in responses:
        assert answer.is_error, f"{method} {path}: {answer.status_code} is not in the contract"
        return
    validator = _validator(path, method, str(answer.status_code))
    if validator is None:
        # Errors have the shape of all errors, also where the contract has no word on it.
        assert answer.is_error or answer.content == b""
    else:
        validator.validate(answer.json())


@cache
def _contract() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(CONTRACT).read_text())
    return found


@cache
def _patterns() -> list[tuple[str, re.Pattern[str]]]:
    # Fixed segments before parameters, as the paths are served.
    paths = sorted(_contract()["paths"], key=lambda path: path.count("{"))
    return [(path, re.compile(re.sub(r"\{[^}]+\}", "[^/]+", path))) for path in paths]


def _declared(method: str, path: str) -> tuple[str, str] | None:
    if not CONTRACT:
        return None
    for template, pattern in _patterns():
        if pattern.fullmatch(path) and method.lower() in _contract()["paths"][template]:
            return template, method.lower()
    return None


@cache
def _validator(path: str, method: str, status: str) -> Draft202012Validator | None:
    components = _contract()["components"]
    response = _contract()["paths"][path][method]["responses"][status]
    if "$ref" in response:
        response = components["responses"][response["$ref"].rpartition("/")[2]]
    if "content" not in response:
        return None
    schema = response["content"]["application/json"]["schema"]
    root = nullable({"components": components, "allOf": [schema]})
    return Draft202012Validator(root, format_checker=FormatChecker())


def nullable(schema: Any) -> Any:
    """OpenAPI's `nullable` in JSON Schema's words."""
    if isinstance(schema, list):
        return [nullable(member) for member in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: nullable(member) for name, member in schema.items()}
    if found.pop("nullable", False) is True and isinstance(found.get("type"), str):
        found["type"] = [found["type"], "null"]
    return found
