"""The payload of an event for the hook of an app: it names the installation that it is for."""

import contextlib
from typing import Any

import orjson

from store.formats.long_numbers import rewritten
from store.formats.node_ids import node_id

MEMBER = b'"installation"'


def _named(installation_id: int) -> dict[str, Any]:
    return {
        "id": installation_id,
        "node_id": node_id("IntegrationInstallation", installation_id),
    }


def named_payload(payload: dict[str, Any], installation_id: int) -> dict[str, Any]:
    """Return a parsed payload with the member `installation`, in place of another one."""
    return {**payload, "installation": _named(installation_id)}


def with_installation(body: bytes, installation_id: int) -> bytes:
    """Return a payload with the member `installation`, in place of another one."""
    named = _named(installation_id)
    if MEMBER in body:
        payload = orjson.loads(body)
        if "installation" in payload:
            # The library does not write a payload that is nested deeply. Parsers use the last of
            # two members with the same name.
            with contextlib.suppress(orjson.JSONEncodeError):
                return rewritten(body, payload, lambda one: named_payload(one, installation_id))
    members = body.strip()[:-1].rstrip()
    comma = b"" if members == b"{" else b","
    return b'%b%b"installation":%b}' % (members, comma, orjson.dumps(named))
