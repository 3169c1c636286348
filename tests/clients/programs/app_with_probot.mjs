// An app on probot that answers each new issue with a comment. It points its own hook at itself.
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { Probot, Server } from "probot";
import { App, Octokit } from "octokit";

const SECRET = "a bell that no one else has";
const [baseUrl, appId, key, name, token] = process.argv.slice(2);
const [owner, repo] = name.split("/");
const settings = { appId, privateKey: readFileSync(key, "utf8"), secret: SECRET, baseUrl };
// Probot treats port 0 as no port, so find a free one first.
const probe = createServer().listen(0, "127.0.0.1");
await once(probe, "listening");
const { port } = probe.address();
probe.close();
await once(probe, "close");
const server = new Server({
  host: "127.0.0.1",
  port,
  Probot: Probot.defaults({ ...settings, logLevel: "error" }),
});
const answered = new Promise((resolve, reject) => {
  server.load((app) => {
    app.on("issues.opened", async (context) => {
      try {
        assert.equal(context.isBot, false);
        const { data } = await context.octokit.rest.issues.createComment(
          context.issue({ body: `Received ${context.id}.` }),
        );
        resolve([data, context.payload]);
      } catch (error) {
        reject(error);
      }
    });
  });
});
await server.start();
const { octokit: itself } = new App({ ...settings, Octokit: Octokit.defaults({ baseUrl }) });
// In octokit's own parameters, `url` is the address of the request.
const url = `http://127.0.0.1:${port}/api/github/webhooks`;
const config = { url, content_type: "json", secret: SECRET };
await itself.request("PATCH /app/hook/config", { data: config });
const user = new Octokit({ auth: token, baseUrl });
await user.rest.issues.create({ owner, repo, title: "The bell is silent" });
const [comment, payload] = await answered;
const { data: installation } = await itself.request("GET /repos/{owner}/{repo}/installation", { owner, repo });
assert.equal(payload.installation.id, installation.id);
assert.equal(comment.user.login, "mill[bot]");
assert.equal(comment.user.type, "Bot");
for (;;) {
  const { data: deliveries } = await itself.request("GET /app/hook/deliveries");
  const found = deliveries.find((one) => one.event === "issues");
  if (found) {
    assert.equal(found.installation_id, installation.id);
    break;
  }
}
await server.stop();
process.exit(0);
