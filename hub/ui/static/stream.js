// The connection for the live views of all pages of a browser. Browsers allow only a few connections
// to a host, so pages share one in a SharedWorker, which runs this file. Without SharedWorker, each
// visible page has its own.
"use strict";

// In milliseconds. A page sends a sign of life every HERE. After SILENT without one, it has gone.
const HERE = 15000, SILENT = 60000, GATHER = 50, SOONEST = 500, LATEST = 30000;
const MOST_VIEWS = 32;

// A view has `at`, and gets `update` (event, html) and `state` (open, lost or ended).
class LiveConnection {
  constructor(path, mark) {
    this.path = path;
    this.mark = mark;
    this.views = [];
    this.source = null;
    this.wait = 0;
    this.timer = 0;
  }

  follow(views) {
    this.views.push(...views);
    this.reopen(GATHER);
  }

  leave(views) {
    const left = this.views.filter((view) => !views.includes(view));
    if (left.length === this.views.length) return;
    this.views = left;
    this.reopen(GATHER);
  }

  reopen(wait) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.open(), wait);
  }

  open() {
    if (this.source) this.source.close();
    this.source = null;
    if (!this.views.length) return;
    const sent = this.views.slice(-MOST_VIEWS);
    const query = new URLSearchParams([["mark", this.mark], ...sent.map((view) => ["at", view.at])]);
    const source = this.source = new EventSource(`${this.path}?${query}`);
    const hear = (name, act) => source.addEventListener(name, (event) => {
      if (source === this.source) act(JSON.parse(event.data));
    });
    hear("begin", () => { this.wait = 0; sent.forEach((view) => view.state("open")); });
    hear("reconnect", () => this.open());
    // The session has too many connections, and a newer one has this place.
    hear("crowded", () => { this.wait = LATEST; this.lost(source); });
    hear("ended", () => { source.close(); sent.forEach((view) => view.state("ended")); });
    hear("update", (message) => {
      const view = sent[message.view];
      if (message.event === "ended") return view.state("ended");
      // The next connection continues after this update.
      view.at = message.next;
      view.update(message.event, message.html, message.next);
    });
    source.onerror = () => this.lost(source);
  }

  // An EventSource would reconnect with its first URL, and bring the same updates again.
  lost(source) {
    if (source !== this.source) return;
    source.close();
    this.views.forEach((view) => view.state("lost"));
    this.wait = Math.min(Math.max(this.wait * 2, SOONEST), LATEST);
    this.reopen(this.wait);
  }
}

// In the worker: one connection, and the pages that follow something.
function share() {
  const pages = new Map();
  let connection = null;

  function leave(port) {
    const page = pages.get(port);
    pages.delete(port);
    if (page) connection.leave(page.views);
  }

  function follow(port, message) {
    leave(port);
    connection = connection || new LiveConnection(message.path, message.mark);
    const views = message.views.map((at, number) => ({
      at,
      update: (event, html, next) => port.postMessage({ number, event, html, next }),
      state: (state) => port.postMessage({ number, state }),
    }));
    pages.set(port, { views, heard: Date.now() });
    connection.follow(views);
  }

  self.onconnect = (event) => {
    const [port] = event.ports;
    port.onmessage = ({ data }) => {
      const page = pages.get(port);
      if (page) page.heard = Date.now();
      if (data.what === "follow") follow(port, data);
      if (data.what === "leave") leave(port);
    };
  };
  setInterval(() => {
    for (const [port, page] of pages) if (Date.now() - page.heard > SILENT) leave(port);
  }, HERE);
}

// In a page: the connection in the worker, with the same methods.
class SharedConnection {
  constructor(path, mark) {
    // Another session has another worker, so that no page gets another user's updates.
    const worker = new SharedWorker(document.querySelector("script[data-stream-script]").src, mark);
    this.given = { path, mark };
    this.views = [];
    this.port = worker.port;
    this.port.onmessage = ({ data }) => this.hear(data);
    this.failed = new Promise((resolve) => { worker.onerror = resolve; });
    setInterval(() => { if (this.views.length) this.port.postMessage({ what: "here" }); }, HERE);
  }

  hear({ number, event, html, next, state }) {
    const view = this.views[number];
    if (!view) return;
    if (state) return view.state(state);
    view.at = next;
    view.update(event, html, next);
  }

  follow(views) {
    this.views = views;
    this.port.postMessage({ what: "follow", ...this.given, views: views.map((view) => view.at) });
  }

  leave() {
    this.views = [];
    this.port.postMessage({ what: "leave" });
  }
}

if (typeof SharedWorkerGlobalScope !== "undefined" && self instanceof SharedWorkerGlobalScope) share();
