// Sign in as an app, find its installations, and add a comment as one of them, with octokit.
import assert from "node:assert";
import { readFileSync } from "node:fs";
import { App, Octokit } from "octokit";

const [base, appId, key, name] = process.argv.slice(2);
const [owner, repo] = name.split("/");
const app = new App({
  appId,
  privateKey: readFileSync(key, "utf8"),
  Octokit: Octokit.defaults({ baseUrl: base }),
});
const { data: itself } = await app.octokit.request("GET /app");
assert.equal(itself.slug, "mill");
const seen = [];
await app.eachRepository(({ repository }) => seen.push(repository.full_name));
assert.deepEqual(seen, [name]);
const { data: found } = await app.octokit.request("GET /repos/{owner}/{repo}/installation", { owner, repo });
const acting = await app.getInstallationOctokit(found.id);
const { data: issue } = await acting.rest.issues.create({ owner, repo, title: "The bell is silent" });
assert.equal(issue.user.type, "Bot");
await acting.rest.issues.createComment({ owner, repo, issue_number: issue.number, body: "Received by an app." });
await assert.rejects(acting.rest.repos.get({ owner, repo: "other" }), { status: 404 });
await acting.request("DELETE /installation/token");
