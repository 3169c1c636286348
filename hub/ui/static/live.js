// The live parts of a page: lists that grow, panels that are renewed, and how people pause both.
"use strict";

const WORDS = { open: "Live", paused: "Paused", lost: "Connecting…" };

// The focused element's selector: its id, link, name or label. It finds the element again after the
// part was renewed.
function focusedIn(part) {
  const one = document.activeElement;
  if (!one || one === part || !part.contains(one)) return null;
  const named = ["id", "href", "name", "aria-label"].find((name) => one.getAttribute(name));
  const of = one.tagName.toLowerCase();
  const selector = named ? `${of}[${named}="${CSS.escape(one.getAttribute(named))}"]` : of;
  return { selector, place: [...part.querySelectorAll(selector)].indexOf(one) };
}

function focusAgain(part, kept) {
  if (!kept || part.contains(document.activeElement)) return;
  const found = [...part.querySelectorAll(kept.selector)];
  const one = found[kept.place] || found.at(-1) || part.closest("[tabindex]") || document.getElementById("main");
  one.focus({ preventScroll: true });
}

// A part of a page that the updates of one event of a view change.
class LivePart {
  constructor(element, page) {
    this.element = element;
    this.page = page;
    this.grows = "most" in element.dataset;
    this.held = null;
    this.many = 0;
    this.under = false;
    const frame = element.closest(".panel") || element.parentElement;
    this.button = frame.querySelector("[data-news]");
    this.counted = frame.querySelector(".matches");
    this.since = 0;
    if (this.button) this.button.addEventListener("click", () => this.show());
    // Only a mouse rests over a list. A touch does not hold updates back.
    element.addEventListener("pointerenter", (event) => { this.under = event.pointerType === "mouse"; });
    element.addEventListener("pointerleave", () => { this.under = false; this.release(); });
    element.addEventListener("focusout", () => setTimeout(() => this.release()));
    document.addEventListener("change", () => setTimeout(() => this.release()));
    document.addEventListener("released", () => this.release());
  }

  // New rows would push selected ones out of the list, so these hold a list as the focus does.
  get waits() {
    const used = this.grows && (this.element.contains(document.activeElement) || this.element.querySelector(":checked"));
    return this.page.paused || pressing || (("hold" in this.element.dataset || this.grows) && (this.under || used));
  }

  hear(html) {
    if (this.grows) {
      const rows = this.rows(html);
      this.many += rows.length;
      // A list can wait all night, so it keeps no rows that it would not show.
      this.held = [...rows, ...(this.held || [])].slice(0, this.most);
    } else this.held = html;
    if (this.waits) this.announce();
    else this.show();
  }

  get most() {
    return Number(this.element.dataset.most);
  }

  rows(html) {
    const made = document.createElement("template");
    made.innerHTML = html;
    return [...made.content.children];
  }

  release() {
    if (this.held !== null && !this.waits) this.show();
  }

  announce() {
    if (!this.button) return;
    this.button.hidden = !this.many;
    this.button.textContent = `${this.many} new`;
  }

  show() {
    const held = this.held;
    if (held === null) return;
    this.since += this.many;
    this.held = null;
    this.many = 0;
    const kept = focusedIn(this.element);
    if (this.grows) this.grow(held);
    else this.element.innerHTML = held;
    focusAgain(this.element, kept);
    if (this.button && document.activeElement === this.button) this.element.closest("[tabindex]").focus();
    this.announce();
    document.dispatchEvent(new CustomEvent("renewed"));
  }

  grow(rows) {
    this.element.prepend(...rows);
    while (this.element.children.length > this.most) this.element.lastElementChild.remove();
    // The number of matches is of the time when the page was loaded.
    if (this.counted) this.counted.textContent = this.counted.textContent.replace(/, and \d+ new$|$/, `, and ${this.since} new`);
    for (const empty of document.querySelectorAll("[data-until-rows]")) empty.hidden = true;
  }
}

class LivePage {
  constructor() {
    this.paused = false;
    this.keepFocus();
    this.views = [...document.querySelectorAll("[data-stream]")].map((element) => this.view(element));
    this.polled = [...document.querySelectorAll("[hx-trigger^=every]")];
    if (!this.views.length && !this.polled.length) return this.still();
    this.state = this.views.length ? "lost" : "open";
    for (const button of document.querySelectorAll("[data-pause]")) {
      button.hidden = false;
      button.addEventListener("click", () => this.pause(!this.paused));
    }
    this.say();
    if (this.views.length) this.connect();
    document.addEventListener("htmx:beforeRequest", (event) => this.mayPoll(event));
  }

  // A button that is disabled during its request has lost the focus before the answer is there.
  keepFocus() {
    let asked = null, kept = null;
    document.addEventListener("htmx:beforeRequest", ({ detail }) => {
      asked = detail.elt === document.activeElement ? focusedIn(detail.target) : null;
    });
    document.addEventListener("htmx:beforeSwap", ({ detail }) => {
      kept = focusedIn(detail.target) || (document.activeElement === document.body ? asked : null);
    });
    document.addEventListener("htmx:afterSettle", ({ detail }) => {
      focusAgain(document.getElementById(detail.elt.id) || detail.elt, kept);
      kept = null;
    });
  }

  // A page on which nothing is renewed.
  still() {
    for (const one of document.querySelectorAll("[data-live]")) one.remove();
  }

  view(element) {
    const found = [...element.querySelectorAll("[data-swap]"), ...(element.matches("[data-swap]") ? [element] : [])];
    const parts = new Map(found.map((part) => [part.dataset.swap, new LivePart(part, this)]));
    return {
      at: element.dataset.stream,
      parts,
      update: (event, html) => { if (parts.has(event)) parts.get(event).hear(html); },
      state: (state) => this.become(state),
    };
  }

  connect() {
    const path = document.body.dataset.streamAt, mark = document.body.dataset.mark;
    this.connection = this.shared(path, mark) || new LiveConnection(path, mark);
    if (document.visibilityState === "visible") this.connection.follow(this.views);
    document.addEventListener("visibilitychange", () => this.turn(document.visibilityState === "visible"));
    addEventListener("pagehide", () => this.turn(false));
    addEventListener("pageshow", (event) => { if (event.persisted) this.turn(true); });
  }

  shared(path, mark) {
    try {
      const made = new SharedConnection(path, mark);
      made.failed.then(() => {
        this.connection = new LiveConnection(path, mark);
        this.connection.follow(this.views);
      });
      return made;
    } catch {
      return null;
    }
  }

  // A hidden page holds no connection. It continues where it was when it is visible again.
  turn(visible) {
    this.connection.leave(this.views);
    if (visible) this.connection.follow(this.views);
    else this.become("lost");
  }

  become(state) {
    if (state === "ended") location.reload();
    else if (this.state !== state) {
      this.state = state;
      this.say();
    }
  }

  pause(paused) {
    this.paused = paused;
    this.say();
    if (!paused) for (const view of this.views) for (const part of view.parts.values()) part.release();
  }

  say() {
    const state = this.paused ? "paused" : this.state;
    for (const one of document.querySelectorAll("[data-live]")) {
      one.dataset.live = state;
      one.textContent = WORDS[state];
    }
    for (const button of document.querySelectorAll("[data-pause]")) {
      button.textContent = this.paused ? "Resume" : "Pause";
    }
  }

  mayPoll(event) {
    if (isPolled(event.detail.elt) && (this.paused || document.visibilityState === "hidden")) event.preventDefault();
  }
}

new LivePage();
