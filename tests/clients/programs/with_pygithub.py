"""Sign in, read the repository, subscribe, receive a delivery, and add a comment with PyGithub."""

import sys
from datetime import date

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
label = repo.create_label("cracked", "ff0000", "It has a crack")
issue.add_to_labels(label)
label.edit("broken", "00ff00")
milestone = repo.create_milestone("Before winter", due_on=date(2026, 12, 1))
issue.edit(milestone=milestone)
issue.lock("resolved")
issue = repo.get_issue(issue.number)
assert [one.name for one in issue.labels] == ["broken"]
assert (issue.milestone.title, issue.active_lock_reason) == ("Before winter", "resolved")
issue.unlock()
milestone.delete()
label.delete()
(pull,) = repo.get_pulls(state="closed")
assert pull.is_merged()
(review,) = pull.get_reviews()
assert (review.state, pull.get_review(review.id).body) == ("APPROVED", "It rings")
(line,) = pull.get_single_review_comments(review.id)
assert [one.id for one in pull.get_review_comments()] == [line.id]
assert [one.body for one in repo.get_pulls_comments(sort="updated")] == ["Oil it"]
users, teams = pull.get_review_requests()
assert ([one.login for one in users], list(teams)) == (["grace"], [])
(said,) = repo.get_issues_comments(sort="created")
assert said.body == f"Received {guid}."
assert repo.has_in_assignees("ada")
assert not repo.has_in_assignees("grace")
assert [one.ref for one in repo.get_git_refs()] == ["refs/heads/main"]
commit = repo.get_commit("a" * 40)
assert (commit.sha, commit.stats.total, list(commit.files)) == ("a" * 40, None, [])
commit.create_status("success")
assert [one.state for one in commit.get_statuses()] == ["success"]
hook.edit("web", config, events=["push"])
assert repo.get_hook(hook.id).events == ["push"]
hook.delete()
