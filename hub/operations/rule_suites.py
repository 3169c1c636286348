"""Rule suites of repositories (group 8): what came of their rules at pushes."""

from hub import rule_suite_shapes
from hub.access import on_repo
from hub.context import Context
from hub.group import Group
from hub.paging import Page
from hub.rule_suite_shapes import Filter, RuleSuite, RuleSuiteDetail
from store import Row, rule_suites

ops = Group("repos", rule_suite_id=rule_suites.get)

READ = on_repo("administration", "write", role="admin", public_scopes=("public_repo",))


@ops("GET /repos/{owner}/{repo}/rulesets/rule-suites", READ, errors=(422,))
def get_repo_rule_suites(ctx: Context, repo: Row, page: Page, query: Filter) -> list[RuleSuite]:
    """List repository rule suites

    Those of the last day if nothing else is asked for, pushed last first.
    """
    return rule_suite_shapes.listed(ctx.db, page, query, repo_id=repo["id"])


@ops("GET /repos/{owner}/{repo}/rulesets/rule-suites/{rule_suite_id}", READ)
def get_repo_rule_suite(ctx: Context, rule_suite: Row) -> RuleSuiteDetail:
    """Get a repository rule suite"""
    return rule_suite_shapes.detail(rule_suite)
