"""Sign in, read the repository, subscribe, receive a delivery, and add a comment with githubkit.

Its models refuse responses and payloads without a member that they require.
"""

import sys

from githubkit import GitHub, TokenAuthStrategy
from receiver import SECRET, Receiver

base, token, name = sys.argv[1:]
owner, repo = name.split("/")
client = GitHub(TokenAuthStrategy(token), base_url=base)
rest = client.rest("2026-03-10")
seen = rest.repos.get(owner, repo).parsed_data
assert rest.users.get_authenticated().parsed_data.login == seen.owner.login
receiver = Receiver()
config = {"url": receiver.url, "content_type": "json", "secret": SECRET}
hook = rest.repos.create_webhook(
    owner, repo, name="web", config=config, events=["issues"], active=True
).parsed_data
rest.repos.ping_webhook(owner, repo, hook.id)
assert receiver.wait_for("ping")[1]["hook"]["id"] == hook.id
issue = rest.issues.create(
    owner, repo, title="The bell is silent", body="Since this morning.", labels=["bells"]
).parsed_data
webhooks = client.webhooks("2026-03-10")
guid, payload = receiver.wait_for("issues")
opened = webhooks.parse_obj("issues", payload)
assert (opened.action, opened.issue.number) == ("opened", issue.number)
labeled = webhooks.parse_obj("issues", receiver.wait_for("issues")[1])
(label,) = rest.issues.list_labels_for_repo(owner, repo).parsed_data
assert (labeled.action, labeled.label.name) == ("labeled", label.name)
rest.issues.create_comment(owner, repo, issue.number, body=f"Received {guid}.")
deliveries = rest.repos.list_webhook_deliveries(owner, repo, hook.id).parsed_data
assert [one.guid for one in deliveries if one.action == "opened"] == [guid]
assert rest.repos.get_commit(owner, repo, "a" * 40).parsed_data.sha == "a" * 40
rest.repos.update_webhook(owner, repo, hook.id, events=["push"])
assert rest.repos.get_webhook(owner, repo, hook.id).parsed_data.events == ["push"]
subscribed = ["label", "milestone", "issues"]
rest.repos.update_webhook(owner, repo, hook.id, events=subscribed)


def received(event, action):
    """Return the next payload of an event, as the model of its action."""
    found = webhooks.parse_obj(event, receiver.wait_for(event)[1])
    assert found.action == action
    return found


rest.issues.create_label(owner, repo, name="cracked", color="ff0000")
assert received("label", "created").label.color == "ff0000"
rest.issues.update_label(owner, repo, "cracked", new_name="broken", description="It has a crack")
edited = received("label", "edited")
assert (edited.label.description, edited.changes.name.from_) == ("It has a crack", "cracked")
rest.issues.delete_label(owner, repo, "broken")
assert received("label", "deleted").label.name == "broken"
due = rest.issues.create_milestone(owner, repo, title="Before winter").parsed_data
assert received("milestone", "created").milestone.number == due.number
rest.issues.update_milestone(owner, repo, due.number, title="Before spring", state="closed")
assert received("milestone", "edited").changes.title.from_ == "Before winter"
assert received("milestone", "closed").milestone.closed_at
rest.issues.update_milestone(owner, repo, due.number, state="open")
assert received("milestone", "opened").milestone.title == "Before spring"
rest.issues.delete_milestone(owner, repo, due.number)
assert received("milestone", "deleted").milestone.number == due.number
rest.issues.lock(owner, repo, issue.number, lock_reason="off-topic")
assert received("issues", "locked").issue.active_lock_reason == "off-topic"
rest.issues.unlock(owner, repo, issue.number)
assert received("issues", "unlocked").issue.locked is False
(pull,) = rest.pulls.list(owner, repo, state="closed").parsed_data
on = (owner, repo, pull.number)
assert rest.pulls.check_if_merged(*on).status_code == 204
(review,) = rest.pulls.list_reviews(*on).parsed_data
assert rest.pulls.get_review(*on, review.id).parsed_data.state == "APPROVED"
(line,) = rest.pulls.list_review_comments(*on).parsed_data
assert rest.pulls.get_review_comment(owner, repo, line.id).parsed_data.body == "Oil it"
(asked,) = rest.pulls.list_requested_reviewers(*on).parsed_data.users
assert asked.login == "grace"
assert len(rest.issues.list_comments_for_repo(owner, repo).parsed_data) == 1
rest.repos.delete_webhook(owner, repo, hook.id)
