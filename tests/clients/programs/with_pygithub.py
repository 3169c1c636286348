"""Sign in, read the repository, subscribe, receive a delivery, and add a comment with PyGithub."""

import sys

from github import Auth, Github
from receiver import SECRET, Receiver

base, token, name = sys.argv[1:]
client = Github(base_url=base, auth=Auth.Token(token))
repo = client.get_repo(name)
assert client.get_user().login == repo.owner.login
receiver = Receiver()
config = {"url": receiver.url, "content_type": "json", "secret": SECRET}
hook = repo.create_hook("web", config, ["issues"], active=True)
hook.ping()
assert receiver.wait_for("ping")[1]["hook"]["id"] == hook.id
issue = repo.create_issue("The bell is silent", body="Since this morning.")
guid, payload = receiver.wait_for("issues")
assert (payload["action"], payload["issue"]["number"]) == ("opened", issue.number)
repo.get_issue(payload["issue"]["number"]).create_comment(f"Received {guid}.")
assert [one.guid for one in repo.get_hook_deliveries(hook.id) if one.event == "issues"] == [guid]
commit = repo.get_commit("a" * 40)
assert (commit.sha, commit.stats.total, list(commit.files)) == ("a" * 40, None, [])
commit.create_status("success")
assert [one.state for one in commit.get_statuses()] == ["success"]
hook.edit("web", config, events=["push"])
assert repo.get_hook(hook.id).events == ["push"]
hook.delete()
