"""Sign in as an app, find its installations, and add a comment as one of them, with PyGithub."""

import sys
from pathlib import Path

from github import Auth, GithubIntegration, UnknownObjectException

base, app, key, name = sys.argv[1:]
owner, _, repo_name = name.partition("/")
client = GithubIntegration(auth=Auth.AppAuth(int(app), Path(key).read_text()), base_url=base)
assert client.get_app().slug == "mill"
(installation,) = client.get_installations()
assert client.get_user_installation(owner).id == installation.id
assert client.get_repo_installation(owner, repo_name).id == installation.id
assert [one.full_name for one in installation.get_repos()] == [name]
token = client.get_access_token(installation.id, permissions={"issues": "read"})
assert token.token.startswith("ghs_")
acting = client.get_github_for_installation(installation.id)
repo = acting.get_repo(name)
issue = repo.create_issue("The bell is silent")
assert (issue.user.login, issue.user.type) == ("mill[bot]", "Bot")
issue.create_comment("Received by an app.")
try:
    acting.get_repo(f"{owner}/other")
except UnknownObjectException:
    print("done")
