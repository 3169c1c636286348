"""Rule suites of repositories (group 8): results of rules for pushes."""

from hub.api.repositories import rule_suite_serializers
from hub.api.repositories.rule_suite_serializers import RuleSuite, RuleSuiteDetail, RuleSuiteQuery
from hub.auth.repository_access import on_repo
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.paging import NumberedPaging
from store import Row
from store.repositories import rule_suites

ops = OperationGroup("repos", rule_suite_id=rule_suites.get)

READ = on_repo("administration", "write", role="admin", public_scopes=("public_repo",))


@ops("GET /repos/{owner}/{repo}/rulesets/rule-suites", READ, errors=(422,))
def get_repo_rule_suites(
    ctx: Context, repo: Row, page: NumberedPaging, query: RuleSuiteQuery
) -> list[RuleSuite]:
    """List repository rule suites

    By default the suites for the last day, the latest push first.
    """
    return rule_suite_serializers.listed(ctx.db, page, query, repo_id=repo["id"])


@ops("GET /repos/{owner}/{repo}/rulesets/rule-suites/{rule_suite_id}", READ)
def get_repo_rule_suite(ctx: Context, rule_suite: Row) -> RuleSuiteDetail:
    """Get a repository rule suite"""
    return rule_suite_serializers.detail(rule_suite)
