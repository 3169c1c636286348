"""Operations about the API itself: its URLs and its versions."""

from typing import Annotated, NotRequired, cast

from typing_extensions import TypedDict

from hub.auth.access import public
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.versions import VERSIONS, UntilVersion
from store.clock import DAY

ops = OperationGroup("meta")

# Member to path. Clients rely on these, so all of the platform's are included.
LINKS = {
    "current_user_url": "/user",
    "code_search_url": "/search/code?q={query}{&page,per_page,sort,order}",
    "commit_search_url": "/search/commits?q={query}{&page,per_page,sort,order}",
    "emails_url": "/user/emails",
    "emojis_url": "/emojis",
    "events_url": "/events",
    "feeds_url": "/feeds",
    "followers_url": "/user/followers",
    "following_url": "/user/following{/target}",
    "gists_url": "/gists{/gist_id}",
    "issue_search_url": "/search/issues?q={query}{&page,per_page,sort,order}",
    "issues_url": "/issues",
    "keys_url": "/user/keys",
    "label_search_url": "/search/labels?q={query}&repository_id={repository_id}{&page,per_page}",
    "notifications_url": "/notifications",
    "organization_url": "/orgs/{org}",
    "organization_repositories_url": "/orgs/{org}/repos{?type,page,per_page,sort}",
    "organization_teams_url": "/orgs/{org}/teams",
    "public_gists_url": "/gists/public",
    "rate_limit_url": "/rate_limit",
    "repository_url": "/repos/{owner}/{repo}",
    "repository_search_url": "/search/repositories?q={query}{&page,per_page,sort,order}",
    "current_user_repositories_url": "/user/repos{?type,page,per_page,sort}",
    "starred_url": "/user/starred{/owner}{/repo}",
    "starred_gists_url": "/gists/starred",
    "topic_search_url": "/search/topics?q={query}{&page,per_page}",
    "user_url": "/users/{user}",
    "user_organizations_url": "/user/orgs",
    "user_repositories_url": "/users/{user}/repos{?type,page,per_page,sort}",
    "user_search_url": "/search/users?q={query}{&page,per_page,sort,order}",
}

ZEN = (
    "Ring once, and make sure that it was heard.",
    "Answer first, work later.",
    "A receiver that rests still gets its mail.",
    "Try again, but not at once.",
    "Sign everything, and trust what is signed.",
    "Whatever was accepted is written down.",
    "Say what you do not know.",
)


class ApiRoot(TypedDict):
    current_user_url: str
    current_user_authorizations_html_url: str
    authorizations_url: NotRequired[Annotated[str, UntilVersion("2026-03-10")]]
    code_search_url: str
    commit_search_url: str
    emails_url: str
    emojis_url: str
    events_url: str
    feeds_url: str
    followers_url: str
    following_url: str
    gists_url: str
    hub_url: NotRequired[Annotated[str, UntilVersion("2026-03-10")]]
    issue_search_url: str
    issues_url: str
    keys_url: str
    label_search_url: str
    notifications_url: str
    organization_url: str
    organization_repositories_url: str
    organization_teams_url: str
    public_gists_url: str
    rate_limit_url: str
    repository_url: str
    repository_search_url: str
    current_user_repositories_url: str
    starred_url: str
    starred_gists_url: str
    topic_search_url: str
    user_url: str
    user_organizations_url: str
    user_repositories_url: str
    user_search_url: str


@ops("GET /", public())
def root(ctx: Context) -> ApiRoot:
    """List the API's URLs

    The URLs are templates. The page [Not served](not-served.md) has those that do not exist on
    this server.
    """
    urls = ctx.urls
    links = {name: urls.root + path for name, path in LINKS.items()}
    links["current_user_authorizations_html_url"] = urls.applications()
    links["authorizations_url"] = f"{urls.root}/authorizations"
    links["hub_url"] = f"{urls.root}/hub"
    return cast("ApiRoot", links)


class ApiOverview(TypedDict):
    """The server, as far as clients may know it.

    `verifiable_password_authentication` says whether passwords are accepted at all.
    """

    verifiable_password_authentication: bool


@ops("GET /meta", public())
def get(ctx: Context) -> ApiOverview:
    """Get the API's meta information

    The addresses that the server sends from, and its keys, are not known here.
    """
    return {"verifiable_password_authentication": True}


@ops("GET /zen", public())
def get_zen(ctx: Context) -> str:
    """Get the Zen of tocsin

    A sentence for each day.
    """
    return ZEN[ctx.now // DAY % len(ZEN)]


@ops("GET /versions", public())
def get_all_versions(ctx: Context) -> list[str]:
    """Get all API versions"""
    return list(VERSIONS)
