"""Rule suites of organizations (group 8): what came of rules at pushes to their repositories."""

from typing import Annotated

from annotated_types import MaxLen

from hub import rule_suite_shapes
from hub.context import Context
from hub.group import Group
from hub.organization_access import on_org
from hub.paging import Page
from hub.rule_suite_shapes import Filter, RuleSuite, RuleSuiteDetail
from hub.validation import Text
from store import Row, organizations, repositories, rule_suites

ops = Group("repos", org=organizations.by_login, rule_suite_id=rule_suites.in_organization)

READ = on_org("organization_administration", "write", owner=True)


class OrganizationFilter(Filter, total=False):
    repository_name: Annotated[Text, MaxLen(200)]


@ops("GET /orgs/{org}/rulesets/rule-suites", READ, errors=(422,))
def get_org_rule_suites(
    ctx: Context, org: Row, page: Page, query: OrganizationFilter
) -> list[RuleSuite]:
    """List organization rule suites

    Those of the last day if nothing else is asked for, pushed last first.
    """
    repo_id = None
    if "repository_name" in query:
        repo = repositories.find(ctx.db, org["login"], query["repository_name"])
        if repo is None:
            return []
        repo_id = repo["id"]
    return rule_suite_shapes.listed(ctx.db, page, query, owner_id=org["id"], repo_id=repo_id)


@ops("GET /orgs/{org}/rulesets/rule-suites/{rule_suite_id}", READ)
def get_org_rule_suite(ctx: Context, rule_suite: Row) -> RuleSuiteDetail:
    """Get an organization rule suite"""
    return rule_suite_shapes.detail(rule_suite)
