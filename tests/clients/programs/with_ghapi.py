"""Sign in, read the repository, subscribe, receive a delivery, and add a comment with ghapi."""

import sys

from ghapi.all import GhApi
from receiver import SECRET, Receiver

base, token, name = sys.argv[1:]
owner, repo = name.split("/")
api = GhApi(owner=owner, repo=repo, token=token, gh_host=base, sync=True)
assert api.users.get_authenticated().login == api.repos.get().owner.login
receiver = Receiver()
config = {"url": receiver.url, "content_type": "json", "secret": SECRET}
hook = api.repos.create_webhook(name="web", config=config, events=["issues"], active=True)
api.repos.ping_webhook(hook_id=hook.id)
assert receiver.wait_for("ping")[1]["hook"]["id"] == hook.id
issue = api.issues.create(title="The bell is silent", body="Since this morning.")
guid, payload = receiver.wait_for("issues")
assert (payload["action"], payload["issue"]["number"]) == ("opened", issue.number)
api.issues.create_comment(issue_number=issue.number, body=f"Received {guid}.")
deliveries = api.repos.list_webhook_deliveries(hook_id=hook.id)
assert [one.guid for one in deliveries if one.event == "issues"] == [guid]
api.repos.update_webhook(hook_id=hook.id, events=["push"])
assert list(api.repos.get_webhook(hook_id=hook.id).events) == ["push"]
api.issues.create_label(name="cracked", color="ff0000")
assert api.issues.update_label(name="cracked", new_name="broken").name == "broken"
api.issues.delete_label(name="broken")
milestone = api.issues.create_milestone(title="Before winter")
assert api.issues.update_milestone(milestone.number, state="closed").closed_at
api.issues.delete_milestone(milestone.number)
api.issues.lock(issue_number=issue.number, lock_reason="spam")
assert api.issues.get(issue.number).active_lock_reason == "spam"
api.issues.unlock(issue.number)
(pull,) = api.pulls.list(state="closed")
api.pulls.check_if_merged(pull.number)
(review,) = api.pulls.list_reviews(pull.number)
(line,) = api.pulls.list_comments_for_review(pull.number, review.id)
assert (review.state, line.body) == ("APPROVED", "Oil it")
assert api.pulls.get_review_comment(line.id).path == "bell.py"
assert [one.id for one in api.pulls.list_review_comments_for_repo()] == [line.id]
assert [one.login for one in api.pulls.list_requested_reviewers(pull.number).users] == ["grace"]
assert len(api.issues.list_comments_for_repo(sort="updated")) == 1
api.issues.check_user_can_be_assigned("ada")
api.repos.delete_webhook(hook_id=hook.id)
