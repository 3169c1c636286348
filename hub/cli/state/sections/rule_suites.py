"""The section `rule_suites`."""

from typing import Annotated, Any, Literal

from pydantic import Field

from hub.cli.console.options import account, repository_named
from hub.cli.state.base import FullName, Moment, StateEntry
from hub.cli.state.changes import StateChange, outcome_of
from hub.cli.state.parts import Sha
from store import Connection
from store.projection import projection_table
from store.repositories import rule_suites

Result = Literal["pass", "fail", "bypass"]
Name = Annotated[str, Field(min_length=1, max_length=100, pattern="^[^\0]*$")]


class RuleSourceEntry(StateEntry):
    """The source of a rule: a ruleset with its id and name, or a protected_branch."""

    type: Name
    id: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    name: Annotated[str, Field(max_length=255, pattern="^[^\0]*$")] | None = None


class RuleEvaluationEntry(StateEntry):
    """The result of one rule."""

    rule_source: RuleSourceEntry
    enforcement: Literal["active", "evaluate", "deleted ruleset"]
    result: Literal["pass", "fail"]
    rule_type: Name
    details: Annotated[str, Field(max_length=2_000, pattern="^[^\0]*$")] | None = None


class RuleSuiteEntry(StateEntry):
    """A rule suite, identified by its repository and `id`, which is its id on its platform. If its
    results are not given, they follow from the evaluations.
    """

    repository: FullName
    id: int = Field(ge=0, lt=2**63)
    actor: str | None = None
    ref: Annotated[str, Field(pattern="^refs/(heads|tags)/[^\0]{1,250}$")]
    before_sha: Sha
    after_sha: Sha
    pushed_at: Moment | None = None
    result: Result | None = None
    evaluation_result: Result | None = None
    rule_evaluations: list[RuleEvaluationEntry] = Field(default_factory=list, max_length=100)

    @property
    def known_by(self) -> tuple[str, str] | None:
        return "rule suite", f"{self.repository.lower()} {self.id}"

    def payload(self) -> dict[str, Any]:
        """Return the suite as in an event's payload."""
        found = self.model_dump(mode="json", exclude_unset=True, exclude={"repository", "actor"})
        return found if self.actor is None else {**found, "actor_name": self.actor}


def rule_suite(db: Connection, wanted: RuleSuiteEntry) -> StateChange:
    """Create or update a suite. Raises Missing for an unknown repository or account."""
    repo = repository_named(db, wanted.repository)
    if wanted.actor is not None:
        account(db, wanted.actor)
    before = rule_suites.get(db, repo["id"], wanted.id)
    rule_suites.put(db, repo, wanted.payload(), projection_table.projected_events(db))
    after = rule_suites.get(db, repo["id"], wanted.id)
    return StateChange("rule suite", f"{repo['full_name']} {wanted.id}", outcome_of(before, after))
