"""The check that an OpenAPI document is valid."""

import json
from functools import cache

from openapi_spec_validator import validate


@cache
def assert_valid(document: str) -> None:
    """Assert that a document is valid.

    The check takes seconds, so it is made once for equal documents: a hub sends the same one
    whatever its database is.
    """
    validate(json.loads(document))
