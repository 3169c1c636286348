"""Serializers of rule suites, shared by organizations and repositories."""

from typing import Annotated, Literal, NotRequired

from annotated_types import MaxLen
from pydantic import Field
from typing_extensions import TypedDict

from hub.rest.paging import NumberedPaging
from hub.rest.serializers import row_serializer
from hub.rest.validation import Text
from store import Connection, Row
from store.accounts import accounts
from store.accounts.viewers import RepositoryViewer
from store.clock import DAY, HOUR
from store.repositories import rule_suites
from store.repositories.rule_suites import RuleSuiteFilter

Result = Literal["pass", "fail", "bypass"]
PERIODS = {"hour": HOUR, "day": DAY, "week": 7 * DAY, "month": 30 * DAY}


class RuleSuiteQuery(TypedDict, total=False):
    """A filter. `ref` is a branch or tag, with or without the prefix refs/heads/ or refs/tags/.

    `month` means the last 30 days. `evaluate_status` selects suites in which rules in force
    (`active`) or rules on trial (`evaluate`) were evaluated.
    """

    ref: Annotated[Text, MaxLen(300), Field(pattern=r"^[^*?\[\\]*$")]
    time_period: Annotated[Literal["hour", "day", "week", "month"], Field(default="day")]
    actor_name: Annotated[Text, MaxLen(200)]
    rule_suite_result: Annotated[Literal["pass", "fail", "bypass", "all"], Field(default="all")]
    evaluate_status: Annotated[Literal["all", "active", "evaluate"], Field(default="all")]


class EvaluatedPush(TypedDict):
    """The members that all forms of a rule suite have."""

    id: int
    before_sha: str
    after_sha: str
    ref: str
    repository_id: int
    repository_name: str
    pushed_at: str
    result: Result


class RuleSuite(EvaluatedPush):
    """A rule suite. `actor_id` and `actor_name` are missing if the user who pushed is not known.

    `evaluation_result` is missing if no rule is on trial.
    """

    actor_id: NotRequired[int]
    actor_name: NotRequired[str]
    evaluation_result: NotRequired[Result]


class RuleSource(TypedDict):
    type: str
    id: NotRequired[int]
    name: NotRequired[str]


class RuleEvaluation(TypedDict):
    rule_source: RuleSource
    enforcement: Literal["active", "evaluate", "deleted ruleset"]
    result: Literal["pass", "fail"]
    rule_type: str
    details: str | None


class RuleSuiteDetail(EvaluatedPush):
    actor_id: int | None
    actor_name: str | None
    evaluation_result: Result | None
    rule_evaluations: list[RuleEvaluation]


def listed(
    db: Connection,
    page: NumberedPaging,
    query: RuleSuiteQuery,
    *,
    owner_id: int | None = None,
    repo_id: int | None = None,
    viewer: RepositoryViewer | None = None,
) -> list[RuleSuite]:
    """Serialize a page of an organization's or a repository's suites that match the query.

    With `viewer`, only those that the viewer may see.
    """
    actor = None
    if "actor_name" in query:
        actor = accounts.by_login(db, query["actor_name"])
        if actor is None:
            return []
    result = query.get("rule_suite_result")
    chosen = RuleSuiteFilter(
        since=db.now - PERIODS[query.get("time_period", "day")],
        owner_id=owner_id,
        repo_id=repo_id,
        ref=query.get("ref"),
        actor_id=None if actor is None else actor["id"],
        result=None if result == "all" else result,
        active=query.get("evaluate_status") == "active",
        evaluated=query.get("evaluate_status") == "evaluate",
        viewer=viewer,
    )
    page.count(lambda most: rule_suites.count(db, chosen, most))
    rows = rule_suites.page(db, chosen, **page.bounds)
    return [_item(row) for row in rows]


_suite = row_serializer(RuleSuite, "id", "repository_id")


def _item(row: Row) -> RuleSuite:
    found = _suite(row, id=row["number"], repository_id=row["repo_id"])
    if row["actor_id"] is not None:
        found |= {"actor_id": row["actor_id"], "actor_name": row["actor_name"]}
    if row["evaluation_result"] is not None:
        found["evaluation_result"] = row["evaluation_result"]
    return found


def detail(row: Row) -> RuleSuiteDetail:
    """Serialize a rule suite with the result of each rule."""
    return {
        "actor_id": None,
        "actor_name": None,
        "evaluation_result": None,
        **_item(row),
        "rule_evaluations": row["evaluations"],
    }
