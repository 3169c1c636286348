"""Rule suites of organizations (group 8): results of rules for pushes to their repositories."""

from typing import Annotated

from annotated_types import MaxLen

from hub.api.repositories import rule_suite_serializers
from hub.api.repositories.rule_suite_serializers import RuleSuite, RuleSuiteDetail, RuleSuiteQuery
from hub.auth.organization_access import on_org
from hub.auth.viewing import viewer_of
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.paging import NumberedPaging
from hub.rest.validation import Text
from store import Row
from store.accounts import organizations
from store.errors import Missing
from store.repositories import repositories, rule_suites

ops = OperationGroup("repos", org=organizations.by_login, rule_suite_id=rule_suites.in_organization)

PERMISSION = "organization_administration"
READ = on_org(PERMISSION, "write", owner=True, scopes=("repo",), public_scopes=("public_repo",))


class OrganizationFilter(RuleSuiteQuery, total=False):
    repository_name: Annotated[Text, MaxLen(200)]


@ops("GET /orgs/{org}/rulesets/rule-suites", READ, errors=(422,))
def get_org_rule_suites(
    ctx: Context, org: Row, page: NumberedPaging, query: OrganizationFilter
) -> list[RuleSuite]:
    """List organization rule suites

    By default the suites for the last day, the latest push first. Includes private repositories
    that the token can see.
    """
    repo_id = None
    if "repository_name" in query:
        repo = repositories.find(ctx.db, org["login"], query["repository_name"])
        if repo is None:
            return []
        repo_id = repo["id"]
    viewer = viewer_of(ctx.caller, PERMISSION)
    return rule_suite_serializers.listed(
        ctx.db, page, query, owner_id=org["id"], repo_id=repo_id, viewer=viewer
    )


@ops("GET /orgs/{org}/rulesets/rule-suites/{rule_suite_id}", READ)
def get_org_rule_suite(ctx: Context, org: Row, rule_suite: Row) -> RuleSuiteDetail:
    """Get an organization rule suite"""
    viewer = viewer_of(ctx.caller, PERMISSION)
    shown = rule_suites.in_organization(ctx.db, org["id"], rule_suite["number"], viewer=viewer)
    if shown is None:
        raise Missing("rule suite")
    return rule_suite_serializers.detail(shown)
