"""The section `rule_suites`."""

from typing import Annotated, Literal

from pydantic import Field

from hub.cli.console.lookups import account
from hub.cli.state.base import Moment, PlatformId, RepositoryPart, Sha, StateEntry, characters
from hub.cli.state.payloads import payload_of
from store import Connection, Row
from store.projection import projection_table
from store.repositories import rule_suites

Result = Literal["pass", "fail", "bypass"]
Name = Annotated[str, characters(1, 100)]


class RuleSourceEntry(StateEntry):
    """The source of a rule: a ruleset with its id and name, or a protected_branch."""

    type: Name
    id: PlatformId | None = None
    name: Annotated[str, characters(0, 255)] | None = None


class RuleEvaluationEntry(StateEntry):
    """The result of one rule."""

    rule_source: RuleSourceEntry
    enforcement: Literal["active", "evaluate", "deleted ruleset"]
    result: Literal["pass", "fail"]
    rule_type: Name
    details: Annotated[str, characters(0, 2_000)] | None = None


class RuleSuiteEntry(RepositoryPart):
    """A rule suite, identified by its repository and `id`, which is its id on its platform.
    `rule_evaluations` replace the present ones, and results that are not given follow from them.
    """

    identified_by = ("repository", "id")

    id: PlatformId
    actor: str | None = None
    ref: Annotated[str, Field(pattern="^refs/(heads|tags)/[^\0]{1,250}$")]
    before_sha: Sha
    after_sha: Sha
    pushed_at: Moment | None = None
    result: Result | None = None
    evaluation_result: Result | None = None
    rule_evaluations: list[RuleEvaluationEntry] = Field(default_factory=list, max_length=100)

    def find(self, db: Connection, parent: Row) -> Row | None:
        return rule_suites.get(db, parent["id"], self.id)

    def write(self, db: Connection, parent: Row, before: object) -> None:
        """Create or update the suite. Raises Missing for an unknown account."""
        if self.actor is not None:
            account(db, self.actor)
        payload = payload_of(db, self, names={"actor": "actor_name"})
        rule_suites.put(db, parent, payload, projection_table.projected_events(db))
