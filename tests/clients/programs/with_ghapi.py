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
api.repos.delete_webhook(hook_id=hook.id)
