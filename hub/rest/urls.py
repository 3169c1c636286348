"""Every URL that the API returns, built from the settings in this one place."""

from urllib.parse import quote, urlsplit

from store import Row


class Urls:
    """URLs under the API's root, as clients reach it."""

    def __init__(self, root: str) -> None:
        parts = urlsplit(root)
        self.root = root
        self.origin = f"{parts.scheme}://{parts.netloc}"
        self.prefix = parts.path
        self.host = parts.hostname or ""

    def path(self, path: str) -> str:
        """Return the URL of a path on this server; the path includes the prefix."""
        return self.origin + path

    def repository_by_id(self, repo_id: int, path: str) -> str:
        """Return the URL of a path below a repository, with the repository's id for its name."""
        rest = path.removeprefix(self.prefix).split("/")[4:]
        return "/".join([f"{self.root}/repositories/{repo_id}", *rest])

    def user(self, login: str) -> str:
        return f"{self.root}/users/{quote(login)}"

    def organization(self, login: str) -> str:
        return f"{self.root}/orgs/{quote(login)}"

    def agent_variable(self, organization: str, name: str) -> str:
        return f"{self.organization(organization)}/agents/variables/{name}"

    def team(self, organization: str, slug: str) -> str:
        return f"{self.organization(organization)}/teams/{slug}"

    def team_membership(self, organization: str, slug: str, login: str) -> str:
        return f"{self.team(organization, slug)}/memberships/{quote(login)}"

    def membership(self, organization: str, login: str) -> str:
        return f"{self.organization(organization)}/memberships/{quote(login)}"

    def public_member(self, organization: str, login: str) -> str:
        return f"{self.organization(organization)}/public_members/{quote(login)}"

    def enterprise_team(self, enterprise: str, slug: str) -> str:
        return f"{self.root}/enterprises/{enterprise}/teams/{slug}"

    def enterprise_team_page(self, enterprise: str, slug: str) -> str:
        return f"{self.origin}/enterprises/{enterprise}/teams/{slug}"

    def profile(self, login: str) -> str:
        """Return the URL of a user's page in a browser."""
        return f"{self.origin}/{quote(login)}"

    def avatar(self, account_id: int) -> str:
        return f"{self.origin}/avatars/u/{account_id}"

    def repository(self, repo: Row) -> str:
        return f"{self.root}/repos/{repo['full_name']}"

    def page(self, repo: Row) -> str:
        """Return the URL of a repository's page in a browser."""
        return f"{self.origin}/{repo['full_name']}"

    def applications(self) -> str:
        """Return the URL of the page where users see the applications that act for them."""
        return f"{self.origin}/settings/connections/applications{{/client_id}}"

    def single_sign_on(self, organization: str) -> str:
        """Return the URL where a token is authorized for an organization."""
        return f"{self.origin}/orgs/{quote(organization)}/sso"

    def hook(self, repo: Row, hook_id: int) -> str:
        return f"{self.repository(repo)}/hooks/{hook_id}"

    def organization_hook(self, organization: str, hook_id: int) -> str:
        return f"{self.organization(organization)}/hooks/{hook_id}"

    def grant(self, grant_id: int) -> str:
        return f"{self.root}/applications/grants/{grant_id}"

    def authorization(self, token_id: int) -> str:
        return f"{self.root}/authorizations/{token_id}"

    def license(self, key: str) -> str:
        return f"{self.root}/licenses/{quote(key)}"

    def file(self, repo: Row, branch: str, path: str) -> str:
        """Return the API's URL of a file's contents."""
        return f"{self.repository(repo)}/contents/{quote(path)}?ref={quote(branch, safe='')}"

    def blob(self, repo: Row, sha: str) -> str:
        return f"{self.repository(repo)}/git/blobs/{sha}"

    def file_page(self, repo: Row, branch: str, path: str, how: str = "blob") -> str:
        """Return the URL of a file's page in a browser; `how="raw"` is the file itself."""
        return f"{self.page(repo)}/{how}/{quote(branch)}/{quote(path)}"

    def invitation(self, invitation_id: int) -> str:
        """Return the URL where the invitee accepts or declines."""
        return f"{self.root}/user/repository_invitations/{invitation_id}"

    def subscription(self, repo: Row) -> str:
        return f"{self.repository(repo)}/subscription"

    def source_import(self, repo: Row) -> str:
        return f"{self.repository(repo)}/import"

    def commit(self, repo: Row, sha: str) -> str:
        return f"{self.repository(repo)}/commits/{sha}"

    def commit_page(self, repo: Row, sha: str) -> str:
        return f"{self.page(repo)}/commit/{sha}"

    def branch(self, repo: Row, name: str) -> str:
        return f"{self.repository(repo)}/branches/{quote(name)}"

    def branch_page(self, repo: Row, name: str) -> str:
        return f"{self.page(repo)}/tree/{quote(name)}"

    def ref(self, repo: Row, name: str) -> str:
        return f"{self.repository(repo)}/git/{quote(name.replace('refs/', 'ref/', 1))}"

    def git_object(self, repo: Row, kind: str, sha: str) -> str:
        """Return the URL of a commit, tag or tree in the repository's git data."""
        return f"{self.repository(repo)}/git/{kind}s/{sha}"

    def issue(self, repo: Row, number: int) -> str:
        return f"{self.repository(repo)}/issues/{number}"

    def issue_page(self, repo: Row, issue: Row) -> str:
        """Return the URL of an issue's or pull request's page in a browser."""
        kind = "pull" if issue["is_pull"] else "issues"
        return f"{self.page(repo)}/{kind}/{issue['number']}"

    def pull(self, repo: Row, number: int) -> str:
        return f"{self.repository(repo)}/pulls/{number}"

    def label(self, repo: Row, name: str) -> str:
        return f"{self.repository(repo)}/labels/{_segment(name)}"

    def milestone(self, repo: Row, number: int) -> str:
        return f"{self.repository(repo)}/milestones/{number}"

    def check_run(self, repo: Row, number: int) -> str:
        return f"{self.repository(repo)}/check-runs/{number}"

    def check_suite(self, repo: Row, number: int) -> str:
        return f"{self.repository(repo)}/check-suites/{number}"

    def workflow_run(self, repo: Row, number: int) -> str:
        return f"{self.repository(repo)}/actions/runs/{number}"

    def workflow_job(self, repo: Row, number: int) -> str:
        return f"{self.repository(repo)}/actions/jobs/{number}"

    def workflow(self, repo: Row, number: int) -> str:
        return f"{self.repository(repo)}/actions/workflows/{number}"

    def workflow_badge(self, repo: Row, file_name: str) -> str:
        """Return the URL of a picture of a workflow's status."""
        return f"{self.page(repo)}/actions/workflows/{quote(file_name)}/badge.svg"

    def concurrency_group(self, repo: Row, name: str) -> str:
        return f"{self.repository(repo)}/actions/concurrency_groups/{_segment(name)}"

    def access_tokens(self, installation_id: int) -> str:
        return f"{self.root}/app/installations/{installation_id}/access_tokens"

    def installation_page(self, installation: Row) -> str:
        owner = ""
        if installation["account_kind"] == "Organization":
            owner = f"/organizations/{quote(installation['login'])}"
        return f"{self.origin}{owner}/settings/installations/{installation['id']}"

    def app_page(self, slug: str) -> str:
        """Return the URL of an application's page in a browser."""
        return f"{self.origin}/apps/{quote(slug)}"


def _segment(name: str) -> str:
    """Return a name as one segment of a path. Clients remove the segments `.` and `..`."""
    return name.replace(".", "%2E") if name in (".", "..") else quote(name, safe="")
