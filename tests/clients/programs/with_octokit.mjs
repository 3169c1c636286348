// Sign in, read the repository, subscribe, receive a delivery, and add a comment with octokit.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { once } from "node:events";
import { Octokit } from "octokit";
import { Webhooks, createNodeMiddleware } from "@octokit/webhooks";

const SECRET = "a bell that no one else has";
const [baseUrl, token, name] = process.argv.slice(2);
const [owner, repo] = name.split("/");
const octokit = new Octokit({ auth: token, baseUrl });
const { data: seen } = await octokit.rest.repos.get({ owner, repo });
const { data: user } = await octokit.rest.users.getAuthenticated();
assert.equal(user.login, seen.owner.login);

const webhooks = new Webhooks({ secret: SECRET });
const received = (event) => new Promise((resolve) => webhooks.on(event, resolve));
const server = createServer(createNodeMiddleware(webhooks, { path: "/" })).listen(0, "127.0.0.1");
await once(server, "listening");
const config = {
  url: `http://127.0.0.1:${server.address().port}/`,
  content_type: "json",
  secret: SECRET,
};
const pinged = received("ping");
const opened = received("issues.opened");
const { data: hook } = await octokit.rest.repos.createWebhook({
  owner, repo, config, events: ["issues"],
});
assert.equal((await pinged).payload.hook_id, hook.id);
const { data: issue } = await octokit.rest.issues.create({
  owner, repo, title: "The bell is silent", body: "Since this morning.",
});
const { id, payload } = await opened;
assert.equal(payload.issue.number, issue.number);
const { data: [listed] } = await octokit.rest.issues.listForRepo({
  owner, repo, mediaType: { format: "html" },
});
assert.match(listed.body_html, /Since this morning/);
await octokit.rest.issues.createComment({
  owner, repo, issue_number: issue.number, body: `Received ${id}.`,
});
const deliveries = await octokit.paginate(octokit.rest.repos.listWebhookDeliveries, {
  owner, repo, hook_id: hook.id,
});
assert.deepEqual(deliveries.filter((one) => one.event === "issues").map((one) => one.guid), [id]);
await octokit.rest.issues.createLabel({ owner, repo, name: "cracked", color: "ff0000" });
const { data: label } = await octokit.rest.issues.updateLabel({
  owner, repo, name: "cracked", new_name: "broken/bell",
});
await octokit.rest.issues.deleteLabel({ owner, repo, name: label.name });
const { data: { number: milestone_number } } = await octokit.rest.issues.createMilestone({
  owner, repo, title: "Before winter", due_on: "2026-12-01T00:00:00Z",
});
const { data: closed } = await octokit.rest.issues.updateMilestone({
  owner, repo, milestone_number, state: "closed",
});
assert.equal(closed.due_on, "2026-12-01T00:00:00Z");
await octokit.rest.issues.deleteMilestone({ owner, repo, milestone_number });
const conversation = { owner, repo, issue_number: issue.number };
await octokit.rest.issues.lock({ ...conversation, lock_reason: "too heated" });
assert.equal((await octokit.rest.issues.get(conversation)).data.locked, true);
await octokit.rest.issues.unlock(conversation);
const { data: [pull] } = await octokit.rest.pulls.list({ owner, repo, state: "closed" });
const on = { owner, repo, pull_number: pull.number };
assert.equal((await octokit.rest.pulls.checkIfMerged(on)).status, 204);
const [review] = await octokit.paginate(octokit.rest.pulls.listReviews, on);
assert.equal(review.state, "APPROVED");
const [line] = await octokit.paginate(octokit.rest.pulls.listReviewComments, on);
const { data: within } = await octokit.rest.pulls.listCommentsForReview({
  ...on, review_id: review.id,
});
assert.deepEqual(within, [line]);
const { data: asked } = await octokit.rest.pulls.listRequestedReviewers(on);
assert.deepEqual(asked.users.map((one) => one.login), ["grace"]);
const said = await octokit.paginate(octokit.rest.issues.listCommentsForRepo, { owner, repo });
assert.deepEqual(said.map((one) => one.body), [`Received ${id}.`]);
await octokit.rest.issues.checkUserCanBeAssigned({ owner, repo, assignee: "ada" });
const ref = "a".repeat(40);
const { data: commit } = await octokit.rest.repos.getCommit({ owner, repo, ref });
const plain = { owner, repo, ref: commit.sha, mediaType: { format: "sha" } };
assert.equal((await octokit.rest.repos.getCommit(plain)).data, ref);
await octokit.rest.repos.updateWebhook({ owner, repo, hook_id: hook.id, events: ["push"] });
const { data: changed } = await octokit.rest.repos.getWebhook({ owner, repo, hook_id: hook.id });
assert.deepEqual(changed.events, ["push"]);
await octokit.rest.repos.deleteWebhook({ owner, repo, hook_id: hook.id });
server.close();
process.exit(0);
