"""Examples of an issue, a comment, a label and a pull request."""

from typing import Any, cast

from hub.api.issues import issue_part_serializers, issue_serializers
from hub.api.issues.body_forms import BodyForms
from hub.api.issues.issue_serializers import Issue, IssueRelations
from hub.api.pulls import pull_serializers
from hub.api.pulls.pull_relations import PullRelations
from hub.event_examples.pushes import AFTER, BEFORE, WHEN, main
from hub.http.media import PLAIN
from hub.rest.serializers import SimpleUser
from hub.rest.urls import Urls
from store import Row, clock
from store.issues import pulls

TIMES = dict.fromkeys(("created_at", "updated_at"), clock.parse(WHEN))
ISSUE: Row = {
    "id": 7,
    "number": 7,
    "title": "The treble rings a quarter tone flat",
    "body": "Heard from the bridge, twice this morning.",
    "is_pull": False,
    "state": "open",
    "locked": False,
    "comments": 0,
    "author_association": "OWNER",
    **TIMES,
    **dict.fromkeys(("state_reason", "lock_reason", "milestone_id", "type")),
    **dict.fromkeys(("closed_at", "closed_by_id")),
}
PULL: Row = ISSUE | {
    "id": 8,
    "number": 8,
    "title": "Ring the quarters too",
    "body": "Four bells, each quarter of an hour.",
    "is_pull": True,
}
BRANCHES: Row = dict.fromkeys(pulls.NAMES) | {
    "id": 8,
    "head_ref": "quarter-bells",
    "head_sha": AFTER,
    "base_sha": BEFORE,
    "details": {"commits": 1, "additions": 4, "deletions": 1, "changed_files": 1},
}
COMMENT: Row = {
    "number": 9,
    "body": "I hear it, too.",
    "author_association": "OWNER",
    **TIMES,
    **dict.fromkeys(("pinned_at", "pinned_by_id")),
}
LABEL: Row = {
    "id": 1,
    "name": "tuning",
    "color": "b45309",
    "description": None,
    "is_default": False,
}


def issues(urls: Urls, repository: Row, sender: Row) -> dict[str, Any]:
    return {"action": "opened", "issue": _issue(urls, repository, sender, ISSUE)}


def issue_comment(urls: Urls, repository: Row, sender: Row) -> dict[str, Any]:
    row = COMMENT | {"author_id": sender["id"]}
    comment = issue_part_serializers.comment(urls, repository, ISSUE, row, _people(sender))
    about = _issue(urls, repository, sender, ISSUE | {"comments": 1})
    return {"action": "created", "issue": about, "comment": comment}


def label(urls: Urls, repository: Row, sender: Row) -> dict[str, Any]:
    return {"action": "created", "label": issue_part_serializers.label(urls, repository, LABEL)}


def pull_request(urls: Urls, repository: Row, sender: Row) -> dict[str, Any]:
    row = BRANCHES | {"head_repo": repository["full_name"], "base_ref": main(repository)}
    owner = repository["owner"]
    logins = {owner["login"].lower(): cast("SimpleUser", owner)}
    known = {repository["full_name"].lower(): repository}
    relations = PullRelations(urls, repository, {}, logins, known)
    about = _issue(urls, repository, sender, PULL)
    shown = pull_serializers.pull_request(relations, about, row)
    return {"action": "opened", "number": PULL["number"], "pull_request": shown}


def _issue(urls: Urls, repository: Row, sender: Row, row: Row) -> Issue:
    labels = {} if row["is_pull"] else {row["id"]: [LABEL]}
    relations = IssueRelations(_people(sender), labels, {}, {}, {}, {})
    shown = row | {"author_id": sender["id"]}
    return issue_serializers.issue(urls, repository, shown, relations, BodyForms(PLAIN))


def _people(sender: Row) -> dict[int, SimpleUser]:
    return {sender["id"]: cast("SimpleUser", sender)}
