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
rest.repos.delete_webhook(owner, repo, hook.id)
