"""The columns of an event that readers get, apart from its body.

Listings need them, and not the modules that accept events.
"""

COLUMNS = (
    "e.id, e.guid, e.scope, e.repo_id, e.org_id, e.source_id, e.name, e.action, e.installation_id,"
    " e.received_at, e.size, e.traceparent, e.tracestate"
)
