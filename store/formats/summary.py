"""An event in a few lines that people read: who did what, with links."""

from collections.abc import Callable
from dataclasses import dataclass

from store.formats.event_view import EventView, Json, object_of, text_of

MOST_COMMITS, MOST_TITLE = 5, 120
MOST_COUNTED = 10**6
HEADS, TAGS = "refs/heads/", "refs/tags/"


@dataclass(frozen=True, slots=True)
class TextLink:
    """A text that leads to a URL, if there is one."""

    text: str
    url: str | None


TextLine = list[str | TextLink]


def summary(event: EventView) -> list[TextLine]:
    """Return the lines for an event. Events without lines of their own get one general line."""
    writer = _WRITERS.get(event.name, _general)
    return writer(event)


def _sender(event: EventView) -> str:
    return text_of(object_of(event.payload, "sender"), "login") or "somebody"


def _repository(event: EventView) -> TextLink:
    found = event.repository
    return TextLink(text_of(found, "full_name") or "a repository", text_of(found, "html_url"))


def _first_line(text: str | None) -> str:
    line = (text or "").strip().partition("\n")[0]
    return line if len(line) <= MOST_TITLE else f"{line[: MOST_TITLE - 3]}..."


def _general(event: EventView) -> list[TextLine]:
    said = event.name.replace("_", " ") + (f" {event.action}" if event.action else "")
    return [[f"{_sender(event)}: {said} in ", _repository(event)]]


def _ping(event: EventView) -> list[TextLine]:
    return [["This hook works: events of ", _repository(event), " arrive here."]]


def _push(event: EventView) -> list[TextLine]:
    payload = event.payload
    ref = text_of(payload, "ref") or ""
    name = ref.removeprefix(HEADS).removeprefix(TAGS)
    branch = "tag" if ref.startswith(TAGS) else "branch"
    place: TextLine = [f" {branch} {name} of ", _repository(event)]
    if payload.get("deleted") is True:
        return [[f"{_sender(event)} deleted", *place]]
    given = payload.get("commits")
    commits = [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []
    total = _total(payload, len(commits))
    many = f"{total} commit{'' if total == 1 else 's'}"
    forced = "force-pushed " if payload.get("forced") is True else "pushed "
    head: TextLine = [
        f"{_sender(event)} {forced}",
        TextLink(many, text_of(payload, "compare", "compare_url")),
        " to",
    ]
    lines = [[*head, *place], *map(_commit, commits[:MOST_COMMITS])]
    listed = min(len(commits), MOST_COMMITS)
    if total > listed:
        lines.append([f"and {total - listed} more"])
    return lines


def _total(payload: Json, listed: int) -> int:
    """Return the number of pushed commits. Forgejo and Gitea list only the newest five of them."""
    given = payload.get("total_commits")
    # bool is a subclass of int, but is no number here.
    return given if type(given) is int and listed < given < MOST_COUNTED else listed


def _commit(found: Json) -> TextLine:
    short = (text_of(found, "id") or "")[:7] or "commit"
    return [TextLink(short, text_of(found, "url")), f" {_first_line(text_of(found, 'message'))}"]


def _numbered(member: str, noun: str) -> Callable[[EventView], list[TextLine]]:
    """Return the writer for an object with a number and a title."""

    def write(event: EventView) -> list[TextLine]:
        found = object_of(event.payload, member)
        action = (event.action or "changed").replace("_", " ")
        if action == "closed" and found.get("merged") is True:
            action = "merged"
        title = f"#{found.get('number', '?')} {_first_line(text_of(found, 'title'))}"
        link = TextLink(title.strip(), text_of(found, "html_url"))
        return [[f"{_sender(event)} {action} {noun} ", link, " in ", _repository(event)]]

    return write


def _comment(event: EventView) -> list[TextLine]:
    comment = object_of(event.payload, "comment")
    about = object_of(event.payload, "issue") or object_of(event.payload, "pull_request")
    where = f"#{about['number']}" if isinstance(about.get("number"), int) else "a commit"
    link = TextLink(f"a comment on {where}", text_of(comment, "html_url"))
    head: TextLine = [f"{_sender(event)} {event.action or 'created'} ", link, " in "]
    lines: list[TextLine] = [[*head, _repository(event)]]
    said = _first_line(text_of(comment, "body"))
    return [*lines, [said]] if said and event.action != "deleted" else lines


def _release(event: EventView) -> list[TextLine]:
    found = object_of(event.payload, "release")
    named = text_of(found, "name", "tag_name") or "a release"
    link = TextLink(_first_line(named), text_of(found, "html_url"))
    said = f"{_sender(event)} {event.action or 'changed'} the release "
    return [[said, link, " of ", _repository(event)]]


def _ref(verb: str) -> Callable[[EventView], list[TextLine]]:
    """Return the writer for a branch or tag that was created or deleted."""

    def write(event: EventView) -> list[TextLine]:
        kind = text_of(event.payload, "ref_type") or "ref"
        name = text_of(event.payload, "ref") or ""
        return [[f"{_sender(event)} {verb} the {kind} {name} in ", _repository(event)]]

    return write


def _run(member: str) -> Callable[[EventView], list[TextLine]]:
    """Return the writer for a check or a workflow."""

    def write(event: EventView) -> list[TextLine]:
        found = object_of(event.payload, member)
        outcome = text_of(found, "conclusion", "status") or event.action or "changed"
        link = TextLink(_first_line(text_of(found, "name")) or member, text_of(found, "html_url"))
        branch = text_of(found, "head_branch")
        at = f" on {branch}" if branch else ""
        said = f": {outcome.replace('_', ' ')}{at} in "
        return [[link, said, _repository(event)]]

    return write


def _status(event: EventView) -> list[TextLine]:
    payload = event.payload
    named = _first_line(text_of(payload, "context")) or "status"
    link = TextLink(named, text_of(payload, "target_url"))
    commit = (text_of(payload, "sha") or "")[:7]
    at = f" on {commit}" if commit else ""
    head: TextLine = [link, f": {text_of(payload, 'state') or 'changed'}{at} in "]
    lines: list[TextLine] = [[*head, _repository(event)]]
    said = _first_line(text_of(payload, "description"))
    return [*lines, [said]] if said else lines


def _hook_of(event: EventView) -> TextLink:
    hook = object_of(event.payload, "hook")
    target, host = text_of(hook, "target") or "unknown", text_of(hook, "host") or "unknown"
    return TextLink(f"hook {hook.get('id', '?')} of {target} ({host})", text_of(hook, "html_url"))


def _hook_health(event: EventView) -> list[TextLine]:
    payload = event.payload
    attempt = object_of(payload, "last_attempt")
    status = attempt.get("status_code")
    latest = text_of(attempt, "error") or (f"status {status}" if status else "")
    said = {
        "failing": "fails",
        "recovered": "delivers again",
        "will_disable": f"will be disabled at {text_of(payload, 'disable_at') or 'some time'}",
        "disabled": f"was disabled: {text_of(payload, 'reason') or 'no reason is known'}",
        "config_error": "cannot be used as it is configured",
    }.get(event.action or "", event.action or "changed")
    lines: list[TextLine] = [["The ", _hook_of(event), f" {said}"]]
    if event.action != "recovered":
        since = text_of(payload, "since")
        facts = [f"failing since {since}" if since else "", f"latest: {latest}" if latest else ""]
        lines += [[_first_line("; ".join(filter(None, facts)))]] if any(facts) else []
    return lines


def _exhausted(event: EventView) -> list[TextLine]:
    many = event.payload.get("count", "?")
    noun = "delivery has" if many == 1 else "deliveries have"
    return [[f"{many} {noun} no attempt left: ", _hook_of(event)]]


def _key_blocked(event: EventView) -> list[TextLine]:
    key = _first_line(text_of(event.payload, "key"))
    return [[f"The key {key} is blocked: ", _hook_of(event)]]


def _certificate(event: EventView) -> list[TextLine]:
    ends = text_of(event.payload, "ends_at") or "some time"
    return [[f"A certificate ends at {ends}: ", _hook_of(event)]]


def _backlog(event: EventView) -> list[TextLine]:
    due, limit = event.payload.get("due", "?"), event.payload.get("limit", "?")
    return [[f"The backlog is {event.action}: {due} deliveries are due, the limit is {limit}"]]


_WRITERS: dict[str, Callable[[EventView], list[TextLine]]] = {
    "ping": _ping,
    "push": _push,
    "issues": _numbered("issue", "the issue"),
    "pull_request": _numbered("pull_request", "the pull request"),
    "discussion": _numbered("discussion", "the discussion"),
    "issue_comment": _comment,
    "commit_comment": _comment,
    "pull_request_review_comment": _comment,
    "release": _release,
    "create": _ref("created"),
    "delete": _ref("deleted"),
    "check_run": _run("check_run"),
    "workflow_run": _run("workflow_run"),
    "status": _status,
    "hook": _hook_health,
    "delivery": _exhausted,
    "ordering": _key_blocked,
    "certificate": _certificate,
    "backlog": _backlog,
}
