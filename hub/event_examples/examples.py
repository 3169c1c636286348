"""The examples by the names of their events."""

from collections.abc import Callable
from typing import Any

from hub.event_examples import issues, pushes, releases
from hub.rest import event_payloads
from hub.rest.urls import Urls
from hub.rest.vocabulary import Vocabulary
from store import Connection, Row

EXAMPLES: dict[str, Callable[[Urls, Row, Row], dict[str, Any]]] = {
    "create": pushes.create,
    "delete": pushes.delete,
    "issue_comment": issues.issue_comment,
    "issues": issues.issues,
    "label": issues.label,
    "pull_request": issues.pull_request,
    "push": pushes.push,
    "release": releases.release,
}


def payload(event: str, urls: Urls, repository: Row, sender: Row) -> dict[str, Any]:
    """Return an example of an event of a repository.

    The repository and the sender have their serialized forms. Events without an example of their
    own have these two members only.
    """
    known = EXAMPLES.get(event)
    shown = {} if known is None else known(urls, repository, sender)
    return {"repository": repository, "sender": sender} | shown


def of_repository(
    event: str, urls: Urls, words: Vocabulary | None, db: Connection, repo: Row, sender: Row
) -> dict[str, Any]:
    """Return an example with a real repository, and the organization that owns it.

    It has the configured words. The sender has its serialized form.
    """
    ((_, around),) = event_payloads.payloads(urls, None, db, [(repo, {})])
    made = around | payload(event, urls, around["repository"], sender)
    return words.payload(made) if words else made
