// Search over the manual, a filter over the reference, and buttons that copy code.
"use strict";

const STOP = new Set(("a an and are as at be by can did do does for from get go had has have how i if in into is it its me my "
  + "of on or our so than that the then there this to up was we were what when where which who why will with you your").split(" "));
const MOST_RESULTS = 12;
const SETTINGS = "reference/settings";

function stem(word) {
  if (word.length > 5) word = word.replace(/(ing|ed|ion)$/, "");
  return word.length > 3 ? word.replace(/(es|s|e)$/, "") : word.replace(/^(..)s$/, "$1");
}

function words(text) {
  return (text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) || []);
}

const FIELDS = [["pageTitle", 6], ["title", 9], ["text", 1]];

// From each word to the sections that have it: how often, and in which field.
class SearchIndex {
  constructor(data) {
    this.sections = data.sections.map(([page, title, anchor, text]) => (
      { page: data.pages[page][0], pageTitle: data.pages[page][1], title, anchor, text }));
    this.places = new Map();
    this.sections.forEach((section, at) => FIELDS.forEach(([name], field) => this.add(section[name], at, field)));
  }

  add(text, at, field) {
    for (const word of words(text)) {
      // Words that are joined by _ are found by their parts as well.
      for (const part of word.includes("_") ? [word, ...word.split("_")] : [word]) {
        if (!part) continue;
        const found = this.places.get(part) || this.places.set(part, new Map()).get(part);
        const key = at * FIELDS.length + field;
        found.set(key, (found.get(key) || 0) + 1);
      }
    }
  }

  find(query) {
    const asked = words(query);
    const useful = asked.filter((word) => !STOP.has(word));
    const terms = [...new Set((useful.length ? useful : asked).map(stem))];
    const total = new Map(), hits = new Map();
    for (const term of terms) {
      const scores = this.scores(term);
      const weight = Math.log(1 + this.sections.length / (1 + scores.size));
      for (const [at, score] of scores) {
        total.set(at, (total.get(at) || 0) + score * weight);
        hits.set(at, (hits.get(at) || 0) + 1);
      }
    }
    // A section with all the words comes before one that has some of them often. A reference page comes later, unless
    // the query is the name of a setting.
    const share = ({ page, title }) => (page !== SETTINGS || title !== asked.join() ? 0.6 : 2);
    const rate = (at) => total.get(at) * (hits.get(at) / terms.length) ** 2
      * (this.sections[at].page.startsWith("reference/") ? share(this.sections[at]) : 1);
    return [...total.keys()].sort((a, b) => rate(b) - rate(a)).slice(0, MOST_RESULTS).map((at) => this.sections[at]);
  }

  // A term's score by section: whole words count more than beginnings, and titles more than text.
  scores(term) {
    const many = new Map();
    for (const [word, places] of this.places) {
      const share = word === term || stem(word) === term ? 1 : word.startsWith(term) ? 0.4 : 0;
      if (share) for (const [key, times] of places) many.set(key, (many.get(key) || 0) + times * share);
    }
    const found = new Map();
    for (const [key, times] of many) {
      const at = Math.floor(key / FIELDS.length);
      const score = FIELDS[key % FIELDS.length][1] * (1 + Math.log(times + 1) / 2);
      found.set(at, (found.get(at) || 0) + score);
    }
    return found;
  }
}

function snippet(text, query) {
  const terms = words(query).filter((word) => !STOP.has(word)).map(stem);
  const lower = text.toLowerCase();
  const places = terms.map((term) => lower.indexOf(term)).filter((at) => at >= 0);
  const near = Math.max(0, Math.min(...(places.length ? places : [0])) - 40);
  const start = near ? text.indexOf(" ", near) + 1 : 0;
  const shown = (start ? "…" : "") + text.slice(start, start + 130) + (text.length > start + 130 ? "…" : "");
  const line = document.createElement("small");
  const pattern = terms.length ? new RegExp(`(${terms.map((one) => `\\b${one}\\w*`).join("|")})`, "gi") : null;
  for (const [at, piece] of (pattern ? shown.split(pattern) : [shown]).entries()) {
    if (at % 2) line.append(Object.assign(document.createElement("mark"), { textContent: piece }));
    else line.append(piece);
  }
  return line;
}

function startSearch(form) {
  const input = form.querySelector("input"), list = form.querySelector("ol"), said = form.querySelector("[data-said]");
  let index = null, loading = null, chosen = -1;

  function load() {
    loading = loading || fetch(form.dataset.index).then((answer) => answer.json()).then((data) => { index = new SearchIndex(data); });
    return loading;
  }

  function item(section, at) {
    const link = document.createElement("a");
    link.href = `${form.dataset.root}${section.page}${section.title ? `#${section.anchor}` : ""}`;
    link.tabIndex = -1;
    link.append(Object.assign(document.createElement("strong"), { textContent: section.title || section.pageTitle }));
    if (section.title) link.append(Object.assign(document.createElement("small"), { textContent: section.pageTitle }));
    if (section.text) link.append(snippet(section.text, input.value));
    const row = Object.assign(document.createElement("li"), { id: `result-${at}` });
    row.setAttribute("role", "option");
    row.append(link);
    return row;
  }

  function choose(at) {
    const rows = [...list.querySelectorAll("[role=option]")];
    chosen = rows.length ? (at + rows.length) % rows.length : -1;
    rows.forEach((row, place) => row.setAttribute("aria-selected", String(place === chosen)));
    if (chosen >= 0) {
      input.setAttribute("aria-activedescendant", rows[chosen].id);
      rows[chosen].scrollIntoView({ block: "nearest" });
    } else input.removeAttribute("aria-activedescendant");
  }

  function line(text) {
    return Object.assign(document.createElement("li"), { className: "none", textContent: text });
  }

  async function show() {
    if (!index) {
      said.textContent = "Searching";
      list.setAttribute("role", "list");
      list.replaceChildren(line("Searching …"));
      list.hidden = false;
    }
    await load();
    const asked = input.value.trim();
    const found = asked ? index.find(asked) : [];
    list.replaceChildren(...found.map(item));
    const empty = asked && !found.length;
    if (empty) list.append(line("Nothing is found. Try another word."));
    list.setAttribute("role", empty ? "list" : "listbox");
    list.hidden = !asked;
    input.setAttribute("aria-expanded", String(Boolean(asked)));
    said.textContent = asked ? `${found.length} results` : "";
    choose(0);
  }

  form.hidden = false;
  input.addEventListener("focus", load, { once: true });
  input.addEventListener("input", show);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      choose(chosen + (event.key === "ArrowDown" ? 1 : -1));
      event.preventDefault();
    } else if (event.key === "Escape") {
      input.value = "";
      show();
    }
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (!index) await show();
    const link = list.querySelector("[aria-selected=true] a");
    if (link) { location.href = link.href; list.hidden = true; }
  });
  list.addEventListener("click", () => { list.hidden = true; });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)) {
      input.focus();
      event.preventDefault();
    }
  });
}

// Rows that have all the words stay visible. Groups without such a row are hidden.
function startFilter(form) {
  const input = form.querySelector("input"), said = form.querySelector("[data-said]");
  const groups = [...document.querySelectorAll("[data-group]")];
  const open = groups.map((group) => group.open);
  function show() {
    const asked = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let many = 0;
    groups.forEach((group, at) => {
      const rows = [...group.querySelectorAll("[data-row]")];
      for (const row of rows) row.hidden = !asked.every((word) => row.textContent.toLowerCase().includes(word));
      const left = rows.filter((row) => !row.hidden).length;
      many += left;
      group.hidden = !left;
      group.open = asked.length ? true : open[at];
    });
    said.textContent = asked.length ? `${many} found` : "";
  }
  form.hidden = false;
  input.addEventListener("input", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  for (const button of form.querySelectorAll("[data-fold]")) {
    button.addEventListener("click", () => { for (const group of groups) group.open = button.dataset.fold === "open"; });
  }
}

function addCopyButtons() {
  document.querySelectorAll(".prose pre").forEach((block, at) => {
    block.id = block.id || `code-${at}`;
    block.tabIndex = 0;
    const frame = Object.assign(document.createElement("div"), { className: "code" });
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: "Copy" });
    button.dataset.copyFrom = block.id;
    button.setAttribute("aria-label", "Copy this code");
    block.replaceWith(frame);
    frame.append(block, button);
  });
}

// Scroll contents that are longer than the window to the entry of this page.
function showPlace(side) {
  const entry = side && side.querySelector("[aria-current]");
  if (!entry) return;
  const below = entry.getBoundingClientRect().bottom - side.getBoundingClientRect().bottom;
  if (below > 0) side.scrollTop += below + side.clientHeight / 3;
}

for (const form of document.querySelectorAll("form[data-index]")) startSearch(form);
for (const form of document.querySelectorAll("form[data-filter]")) startFilter(form);
addCopyButtons();
showPlace(document.querySelector(".side"));
if (matchMedia("(max-width: 52rem)").matches) {
  for (const one of document.querySelectorAll("[data-folds]")) one.open = false;
}
