"""Validation of check runs that apps submit. A conclusion completes a run."""

from typing import Annotated, Any, Literal, NotRequired
from urllib.parse import urlsplit

from annotated_types import Ge, Le, MaxLen, MinLen
from typing_extensions import TypedDict

from hub.api.checks.check_serializers import Status
from hub.rest.validation import Moment, Text
from store import Row
from store.errors import Invalid
from store.repositories import refs

Line = Annotated[int, Ge(0), Le(2**31 - 1)]
Long = Annotated[Text, MaxLen(65_535)]
RESOURCE = "CheckRun"
STALE = "stale"


class NewCheckAnnotation(TypedDict):
    path: Annotated[Text, MinLen(1), MaxLen(4_096)]
    start_line: Line
    end_line: Line
    start_column: NotRequired[Line]
    end_column: NotRequired[Line]
    annotation_level: Literal["notice", "warning", "failure"]
    message: Annotated[Text, MaxLen(65_536)]
    title: NotRequired[Annotated[Text, MaxLen(255)]]
    raw_details: NotRequired[Annotated[Text, MaxLen(65_536)]]


class NewCheckRunImage(TypedDict):
    alt: Annotated[Text, MaxLen(1_024)]
    image_url: Annotated[Text, MaxLen(2_048)]
    caption: NotRequired[Annotated[Text, MaxLen(1_024)]]


class CheckRunOutputChange(TypedDict):
    """The changed output. Members that are left out stay as they are; annotations are added."""

    title: NotRequired[Annotated[Text, MaxLen(1_024)]]
    summary: Long
    text: NotRequired[Long]
    annotations: NotRequired[Annotated[list[NewCheckAnnotation], MaxLen(50)]]
    images: NotRequired[Annotated[list[NewCheckRunImage], MaxLen(50)]]


class NewCheckRunOutput(CheckRunOutputChange):
    title: Annotated[Text, MaxLen(1_024)]  # type: ignore[misc]


class NewCheckRunAction(TypedDict):
    label: Annotated[Text, MaxLen(20)]
    description: Annotated[Text, MaxLen(40)]
    identifier: Annotated[Text, MaxLen(20)]


class CheckRunFields(TypedDict, total=False):
    """The fields of a check run. `conclusion` completes the run.

    It is required with fields that only a completed run has. Only platforms set it to `stale`.
    """

    details_url: Annotated[Text, MaxLen(2_048)]
    external_id: Annotated[Text, MaxLen(1_024)]
    started_at: Moment
    conclusion: Literal[
        "action_required",
        "cancelled",
        "failure",
        "neutral",
        "success",
        "skipped",
        "stale",
        "timed_out",
    ]
    completed_at: Moment
    actions: Annotated[list[NewCheckRunAction], MaxLen(3)]


class NewCheckRun(CheckRunFields):
    """A new check run. The default of `status` is `queued`."""

    name: Annotated[Text, MinLen(1), MaxLen(255)]
    head_sha: Annotated[Text, MaxLen(64)]
    status: NotRequired[Literal["queued", "in_progress", "completed"]]
    output: NotRequired[NewCheckRunOutput]


class CheckRunChange(CheckRunFields):
    name: NotRequired[Annotated[Text, MinLen(1), MaxLen(255)]]
    status: NotRequired[Status]
    output: NotRequired[CheckRunOutputChange]


def sha_of(body: NewCheckRun) -> str:
    """Return the commit's SHA. Raises Invalid unless it is a full SHA."""
    sha = body["head_sha"].lower()
    if not refs.SHA.fullmatch(sha):
        raise Invalid(
            "head_sha must be the full SHA of a commit", field="head_sha", resource=RESOURCE
        )
    return sha


def created(body: NewCheckRun, app: Row, now: int) -> Row:
    """Return the columns of a new run. `now` is in microseconds.

    Raises Invalid for a URL that is not http or https, for the conclusion `stale`, and for a
    completed run without a conclusion.
    """
    fields = _said(body)
    fields |= {"details_url": app["url"]} if "details_url" not in fields else {}
    fields |= {"started_at": now} if "started_at" not in fields else {}
    return {"status": "queued", **fields, **_state(body, {}, now)}


def changed(body: CheckRunChange, before: Row, now: int) -> Row:
    """Return the columns that change. Raises Invalid in the same cases as `created`."""
    return _said(body) | _state(body, before, now)


def _said(body: NewCheckRun | CheckRunChange) -> Row:
    _check_urls(body)
    names = ("name", "details_url", "external_id", "started_at", "actions")
    fields: Row = {name: body[name] for name in names if name in body}  # type: ignore[literal-required]
    output: Any = body.get("output", {})
    columns = {"title": "title", "summary": "summary", "text": "content"}
    fields |= {columns[name]: output[name] for name in columns if name in output}
    if "images" in output:
        fields["images"] = [{"caption": None, **image} for image in output["images"]]
    return fields


def _state(body: NewCheckRun | CheckRunChange, before: Row, now: int) -> Row:
    conclusion, status = body.get("conclusion"), body.get("status")
    if conclusion is not None:
        _check_conclusion(conclusion)
        ended = _known(before, "completed_at") or now
        completed = {"conclusion": conclusion, "completed_at": body.get("completed_at", ended)}
        return {"status": "completed", **completed}
    still = status is None and before.get("status") == "completed"
    if status == "completed" or ("completed_at" in body and not still):
        raise Invalid(
            "a completed check run requires a conclusion",
            field="conclusion",
            code="missing_field",
            resource=RESOURCE,
        )
    if still:
        return {"completed_at": body["completed_at"]} if "completed_at" in body else {}
    # A new status that is not `completed` restarts the run.
    return {} if status is None else {"status": status, "conclusion": None, "completed_at": None}


def concludes(body: NewCheckRun | CheckRunChange, before: Row) -> bool:
    """Return whether a change completes a run, or gives it another conclusion."""
    known = _known(before, "conclusion")
    return body.get("conclusion") not in (None, known)


def _known(before: Row, name: str) -> Any:
    """Return a field of a run's end. A requested run has not ended yet, and keeps its old end."""
    return None if before.get("asked_again") else before.get(name)


def _check_conclusion(conclusion: str) -> None:
    if conclusion == STALE:
        raise Invalid(
            "only the platform sets the conclusion stale", field="conclusion", resource=RESOURCE
        )


def _check_urls(body: NewCheckRun | CheckRunChange) -> None:
    output: Any = body.get("output", {})
    images = [(image["image_url"], "image_url") for image in output.get("images", ())]
    for url, field in [(body.get("details_url"), "details_url"), *images]:
        if url is not None and not _is_web(url):
            raise Invalid(f"{field} is not an http or https URL", field=field, resource=RESOURCE)


def _is_web(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def annotations_of(body: NewCheckRun | CheckRunChange) -> list[Row]:
    """Return the annotations to add, in the form that the store accepts."""
    output: Any = body.get("output", {})
    found = []
    for each in output.get("annotations", ()):
        columns = {key: value for key, value in each.items() if key != "annotation_level"}
        found.append({"level": each["annotation_level"], **columns})
    return found
