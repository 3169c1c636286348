"""The meaning of each event in one sentence."""

import functools

from hub.openapi.webhooks import own_docstring
from hub.operations import EVENTS
from store.hooks.platform_events import MEANINGS

# The hub's own events whose payload has no description.
OWN = {
    "agent_variable": "A variable of agents changed.",
    "assistant_seat": "A seat of the assistant was given or taken back.",
    "commit_comment_change": "A comment on a commit was edited or deleted.",
    "deployment_record": "The record of a deployment changed.",
    "devenv_secret": "A secret of a development environment changed.",
    "enterprise_team": "A team of an enterprise changed.",
    "issue_field": "A field of issues changed.",
    "secret_scanning_pattern_configuration": "The patterns of secret scanning changed.",
    "storage_record": "The record of stored artifacts changed.",
}


@functools.cache
def meaning(name: str) -> str:
    """Return the meaning of an event, or an empty text for an unknown one."""
    payload = EVENTS.get(name)
    own = "" if payload is None else own_docstring(payload)
    if own and name not in MEANINGS:
        return f"{own.partition(chr(10))[0].removesuffix('.')}."
    return MEANINGS.get(name) or OWN.get(name, "")
