// JSON that folds, that can be searched, and whose paths can be copied. Without this script it is text.
"use strict";

// Values deeper than OPEN_DEPTH are folded at first. Unfolding stops after MOST_VALUES, because more
// values would slow down the page.
const OPEN_DEPTH = 2, MOST_VALUES = 20000;
let made = 0;

function named(tag, name, text) {
  const one = document.createElement(tag);
  if (name) one.className = name;
  if (text !== undefined) one.textContent = text;
  return one;
}

function step(path, key) {
  if (typeof key === "number") return `${path}[${key}]`;
  return /^[A-Za-z_]\w*$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`;
}

// A character that changes the order of the text after it, as an escape: a value could read as another.
function inOrder(text) {
  return text.replace(/[\u202a-\u202e\u2066-\u2069]/g, (one) => `\\u${one.charCodeAt(0).toString(16)}`);
}

function keyOf(key, path) {
  const button = named("button", "json-key", typeof key === "number" ? `${key}` : inOrder(key));
  button.type = "button";
  button.dataset.copy = path;
  button.title = `Copy ${inOrder(path)}`;
  return button;
}

// A number as it is written, because JavaScript would round it: an id may have more than 15 digits.
class WrittenNumber {
  constructor(text) {
    this.text = text;
  }
}

// Older browsers do not pass the source to a reviver.
function asWritten(key, value, context) {
  const text = typeof value === "number" && context ? context.source : undefined;
  return text === undefined || text === String(value) ? value : new WrittenNumber(text);
}

function leaf(value) {
  if (value instanceof WrittenNumber) return named("span", "json-number", value.text);
  return named("span", `json-${value === null ? "null" : typeof value}`, inOrder(JSON.stringify(value)));
}

function node(key, value, path, depth) {
  made += 1;
  const item = named("li", "json-item");
  const isObject = value !== null && typeof value === "object" && !(value instanceof WrittenNumber);
  const entries = isObject ? (Array.isArray(value) ? [...value.entries()] : Object.entries(value)) : [];
  if (!entries.length) {
    if (key !== null) item.append(keyOf(key, path), ": ");
    item.append(isObject ? named("span", "json-empty", Array.isArray(value) ? "[]" : "{}") : leaf(value));
    return item;
  }
  const details = named("details");
  details.open = depth < OPEN_DEPTH;
  const noun = Array.isArray(value) ? "item" : "member";
  const summary = named("summary", "", `${entries.length} ${noun}${entries.length === 1 ? "" : "s"}`);
  const list = named("ul", "json-list");
  const fill = () => {
    if (list.children.length) return;
    for (const [name, part] of entries) list.append(node(name, part, step(path, name), depth + 1));
  };
  if (details.open) fill();
  else details.addEventListener("toggle", fill, { once: true });
  details.fill = fill;
  details.append(summary, list);
  if (key !== null) item.append(keyOf(key, path), ": ");
  item.append(details);
  return item;
}

function unfold(root, open) {
  for (let folded; (folded = [...root.querySelectorAll("details")].filter((one) => one.open !== open)).length;) {
    for (const one of folded) {
      one.fill();
      one.open = open;
    }
    if (!open || made > MOST_VALUES) break;
  }
}

class JsonView {
  constructor(text, value) {
    this.text = text;
    this.tree = named("ul", "json");
    this.tree.append(node(null, value, "$", 0));
    this.hits = [];
    this.at = -1;
    const bar = named("p", "json-bar");
    const label = named("label", "hidden", `Search in ${text.getAttribute("aria-label")}`);
    this.field = named("input");
    this.field.type = "search";
    this.field.placeholder = "Search";
    this.field.id = label.htmlFor = `search-${document.querySelectorAll(".json").length}-${text.id || "json"}`;
    this.said = named("span", "faint");
    this.said.setAttribute("role", "status");
    const buttons = [["Unfold all", () => unfold(this.tree, true)], ["Fold all", () => unfold(this.tree, false)],
      ["As text", () => this.turn()]].map(([words, act]) => {
      const button = named("button", "quiet", words);
      button.type = "button";
      button.addEventListener("click", act);
      return button;
    });
    this.change = buttons[2];
    bar.append(label, this.field, this.said, ...buttons);
    text.before(bar, this.tree);
    text.hidden = true;
    this.field.addEventListener("input", () => this.search());
    this.field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      this.next(event.shiftKey ? -1 : 1);
    });
  }

  turn() {
    this.text.hidden = !this.text.hidden;
    this.tree.hidden = !this.text.hidden;
    this.change.textContent = this.text.hidden ? "As text" : "As a tree";
  }

  search() {
    for (const hit of this.tree.querySelectorAll(".json-hit")) hit.classList.remove("json-hit", "json-here");
    const wanted = this.field.value.trim().toLowerCase();
    if (wanted && !this.text.hidden) this.turn();
    if (wanted) unfold(this.tree, true);
    const parts = wanted ? [...this.tree.querySelectorAll(".json-key, .json-item > span")] : [];
    this.hits = parts.filter((part) => part.textContent.toLowerCase().includes(wanted));
    for (const hit of this.hits) hit.classList.add("json-hit");
    this.at = -1;
    this.said.textContent = wanted ? (this.hits.length === 1 ? "1 match" : `${this.hits.length} matches`) : "";
    if (this.hits.length) this.next(1);
  }

  next(direction) {
    if (!this.hits.length) return;
    if (this.at >= 0) this.hits[this.at].classList.remove("json-here");
    this.at = (this.at + direction + this.hits.length) % this.hits.length;
    this.hits[this.at].classList.add("json-here");
    this.hits[this.at].scrollIntoView({ block: "nearest" });
  }
}

for (const text of document.querySelectorAll("pre[data-json]")) {
  try {
    const value = JSON.parse(text.textContent, asWritten);
    if (value !== null && typeof value === "object") new JsonView(text, value);
  } catch {
    // The text is no JSON, or its end is left out: it stays a text.
  }
}
