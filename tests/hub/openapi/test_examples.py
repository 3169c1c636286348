"""Examples in the OpenAPI document look like real values."""

from typing import Any

import pytest

from hub.openapi import examples


@pytest.mark.parametrize(
    ("name", "schema", "shown"),
    [
        ("created_at", {"type": "string"}, "2026-03-10T09:00:00Z"),
        ("token_url", {"type": "string"}, "https://example.com/token"),
        ("head_sha", {"type": "string"}, "6dcb09b5b57875f334f61aebed695e2e4193db5e"),
        ("created_on", {"type": "string", "format": "date-time"}, "2026-03-10T09:00:00Z"),
        ("login", {"type": "string"}, "ada"),
        ("note", {"type": "string"}, "NOTE"),
        ("head_sha", {"type": "string", "pattern": "^x"}, "HEAD_SHA"),
        ("state", {"enum": ["open", "closed"]}, "open"),
        ("events", {"type": "array", "items": {"type": "string"}}, ["push"]),
    ],
)
def test_a_value_follows_from_schema_and_name(name: str, schema: Any, shown: Any) -> None:
    assert examples.value({}, schema, name) == shown
