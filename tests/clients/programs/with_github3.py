"""Subscribe, receive a delivery, answer an issue and close it with github3.py."""

import sys

from github3 import GitHubEnterprise
from receiver import SECRET, Receiver

base, token, name = sys.argv[1:]
client = GitHubEnterprise(base.removesuffix("/api/v3"), token=token)
repo = client.repository(*name.split("/"))
assert client.me().login == repo.owner.login
receiver = Receiver()
config = {"url": receiver.url, "content_type": "json", "secret": SECRET}
hook = repo.create_hook("web", config, ["issues"])
hook.ping()
assert receiver.wait_for("ping")[1]["hook"]["id"] == hook.id
issue = repo.create_issue("The bell is silent", body="Since this morning.")
guid, payload = receiver.wait_for("issues")
assert (payload["action"], payload["issue"]["number"]) == ("opened", issue.number)
assert repo.issue(issue.number).create_comment(f"Received {guid}.").body_html
issue = repo.issue(issue.number)
assert issue.edit(title="The bell rings again")
assert issue.add_labels("bells")
assert issue.remove_all_labels() == []
assert issue.close()
closed = [one.number for one in repo.issues(state="closed") if not one.pull_request_urls]
assert closed == [issue.number]
label = repo.create_label("cracked", "#ff0000")
assert label.update("broken", "00ff00", "It has a crack")
assert repo.label("broken").description == "It has a crack"
assert label.delete()
milestone = repo.create_milestone("Before winter")
assert milestone.update(state="closed")
assert milestone.delete()
assert issue.lock()
assert repo.issue(issue.number).locked
assert issue.unlock()
(pull,) = repo.pull_requests(state="closed")
assert pull.is_merged()
assert [(one.state, one.body_html) for one in pull.reviews()] == [("APPROVED", "<p>It rings</p>\n")]
assert [one.body_text for one in pull.review_comments()] == ["Oil it"]
assert [one.login for one in pull.review_requests().users] == ["grace"]
assert repo.is_assignee("ada")
assert not repo.is_assignee("grace")
assert [one.ref for one in repo.refs("heads")] == ["refs/heads/main"]
commit = repo.commit("a" * 40)
assert repo.create_status(commit.sha, "success").state == "success"
assert [one.state for one in commit.statuses()] == ["success"]
hook.edit(config=config, events=["push"])
assert repo.hook(hook.id).events == ["push"]
hook.delete()
