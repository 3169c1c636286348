// Functions that HTML and htmx lack: copying, and updating relative times.
"use strict";

// The length of a unit in seconds, its name, and the length of the finer unit.
const STEPS = [[86400, "d", 3600], [3600, "h", 60], [60, "min", 1], [1, "s", 1]];

function ago(seconds) {
  const distance = Math.abs(seconds);
  if (distance < 1) return "now";
  const step = STEPS.find(([length, , finer]) => Math.round(distance / finer) * finer >= length);
  const text = `${Math.round(distance / step[0])} ${step[1]}`;
  return seconds >= 0 ? `${text} ago` : `in ${text}`;
}

// Relative times follow the server's clock, because the browser's clock may be wrong.
const skew = (() => {
  const stamp = document.querySelector("time[data-now]");
  return stamp ? Date.now() - Date.parse(stamp.dateTime) : 0;
})();

function refreshTimes() {
  for (const time of document.querySelectorAll("time[data-ago]")) {
    const seconds = (Date.now() - skew - Date.parse(time.dateTime)) / 1000;
    // A time that was to come when the page was made shows "now" once it is over, and never "ago".
    const text = ago(time.dataset.ago === "until" ? Math.min(seconds, 0) : seconds);
    if (time.textContent !== text) time.textContent = text;
  }
}

// Local times instead of UTC, if somebody prefers them. The server always reads and writes UTC.
const ZONE = "tocsin-times";
let local = false;
try { local = localStorage.getItem(ZONE) === "local"; } catch { /* A browser may forbid storage. */ }

function remember() {
  try { localStorage.setItem(ZONE, local ? "local" : "utc"); } catch { /* The choice lasts for this page only. */ }
}

function stamp(moment, shift, precision = 19) {
  const shifted = shift ? new Date(moment - moment.getTimezoneOffset() * 60000) : moment;
  return shifted.toISOString().slice(0, precision);
}

function zone(moment) {
  const minutes = -moment.getTimezoneOffset(), two = (number) => String(number).padStart(2, "0");
  return `${minutes < 0 ? "-" : "+"}${two(Math.floor(Math.abs(minutes) / 60))}:${two(Math.abs(minutes) % 60)}`;
}

function stamped(moment) {
  return `${stamp(moment, local).replace("T", " ")} ${local ? zone(moment) : "UTC"}`;
}

function showZone() {
  for (const time of document.querySelectorAll("time[data-stamp], time[data-ago]")) {
    const text = stamped(new Date(time.dateTime));
    if ("ago" in time.dataset) time.title = text;
    else if (time.textContent !== text) time.textContent = text;
  }
  for (const label of document.querySelectorAll("[data-zone]")) label.textContent = local ? "(local)" : "(UTC)";
  for (const words of document.querySelectorAll("[data-zone-words]")) {
    const zones = document.querySelector("svg[data-points]") ? "local, and UTC in charts" : "local";
    words.textContent = `Times are ${local ? zones : "UTC"}.`;
  }
  for (const button of document.querySelectorAll("[data-zone-change]")) {
    button.hidden = false;
    button.textContent = local ? "Use UTC" : "Use local times";
  }
}

function fieldsIn(part) {
  return [...part.querySelectorAll("input[type=datetime-local]")].filter((field) => field.value);
}

// An hour that a clock repeats has two times in UTC, so a value that nobody has changed keeps its own.
function utcOf(field) {
  return field.value === field.dataset.shown ? field.dataset.utc : stamp(new Date(field.value), false, field.value.length);
}

function turnFields(fields, toLocal) {
  for (const field of fields) {
    const utc = toLocal ? field.value : utcOf(field);
    field.dataset.utc = utc;
    field.value = field.dataset.shown = toLocal ? stamp(new Date(`${utc}Z`), true, utc.length) : utc;
  }
}

// A browser may bring a page back with values that are local already.
function turnNewFields() {
  const isNew = (field) => !("shown" in field.dataset) && field.value === field.defaultValue;
  if (local) turnFields(fieldsIn(document).filter(isNew), true);
}

// The fields of a page stay local, and the form is sent in UTC. Browsers and htmx both read it here.
document.addEventListener("formdata", (event) => {
  if (!local) return;
  for (const field of fieldsIn(event.target)) event.formData.set(field.name, utcOf(field));
});

document.addEventListener("click", (event) => {
  if (!event.target.closest("[data-zone-change]")) return;
  local = !local;
  remember();
  turnFields(fieldsIn(document), local);
  showZone();
});

// Screen readers announce each text that this element gets.
const announced = Object.assign(document.createElement("p"), { className: "hidden" });
announced.setAttribute("role", "status");
document.body.append(announced);

async function copy(button) {
  const source = button.dataset.copyFrom && document.getElementById(button.dataset.copyFrom);
  const text = source ? source.textContent : button.dataset.copy;
  // A second click may find the text that the first one has set.
  button.dataset.label ??= button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    // There is no clipboard without https: select the text, so that it can be copied by hand.
    const shown = source || button.parentElement.querySelector("code");
    if (shown) getSelection().selectAllChildren(shown);
    button.textContent = "Selected";
  }
  announced.textContent = button.textContent;
  setTimeout(() => { button.textContent = button.dataset.label; }, 1500);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy], [data-copy-from]");
  if (button) copy(button);
});

for (const name of ["renewed", "htmx:afterSwap", "htmx:historyRestore"]) {
  document.addEventListener(name, () => { turnNewFields(); refreshTimes(); showZone(); });
}

// A part of a page that is renewed again and again. That is no use of the session.
function isPolled(part) {
  return (part.getAttribute("hx-trigger") || "").startsWith("every");
}

document.addEventListener("htmx:configRequest", ({ detail }) => {
  if (isPolled(detail.elt)) detail.headers["X-Renewal"] = "1";
});

// If a pressed link is replaced before the release, the click is lost. So a part that renews itself stays as it
// is, and a filter that has lost the focus to the press is used later. The click follows the release. Fields
// do not count: when a list of choices opens, no release may follow.
let pressing = false;
document.addEventListener("pointerdown", (event) => {
  pressing = event.button === 0 && event.target.closest("a, button, summary, tr") !== null;
}, true);
for (const name of ["pointerup", "pointercancel", "blur"]) {
  addEventListener(name, () => setTimeout(() => {
    pressing = false;
    document.dispatchEvent(new CustomEvent("released"));
  }));
}
document.addEventListener("htmx:confirm", (event) => {
  if (!pressing || !event.target.closest("form[role=search]")) return;
  event.preventDefault();
  document.addEventListener("released", () => event.detail.issueRequest(true), { once: true });
});
document.addEventListener("htmx:beforeSwap", (event) => {
  if (pressing && isPolled(event.detail.elt)) event.preventDefault();
});

// Enter in a filter sends its form twice, because the field has changed, too. Both lead to one place.
document.addEventListener("htmx:beforeHistoryUpdate", ({ detail }) => {
  if (detail.history.path === location.pathname + location.search) detail.history.type = "replace";
});

// A filter replaces its list, and says how many entries there are now.
document.addEventListener("htmx:afterSettle", ({ detail }) => {
  // A part that is renewed by itself, and the return to a former page, have no such event.
  const cause = detail.requestConfig && detail.requestConfig.triggeringEvent;
  if (!cause || !cause.target.closest("form[role=search]")) return;
  const said = document.querySelector("#list .matches, #list .empty h2");
  announced.textContent = said ? said.textContent : "";
});

// htmx leaves out the page of an error, which says why a request failed. A polled part just stays.
function showFailure({ elt, xhr }) {
  const place = elt.closest("section, form");
  if (!place || isPolled(elt)) return;
  const said = new DOMParser().parseFromString(xhr.responseText, "text/html").querySelector("main [role=alert]");
  const note = Object.assign(document.createElement("p"), { className: "problem", id: "failure" });
  note.setAttribute("role", "alert");
  note.textContent = said ? said.textContent : "The server did not answer. Try again.";
  place.append(note);
}

for (const name of ["htmx:responseError", "htmx:sendError"]) {
  document.addEventListener(name, (event) => showFailure(event.detail));
}
document.addEventListener("htmx:beforeRequest", () => document.getElementById("failure")?.remove());

// A second click sends a form no second time. The button is not disabled, because a browser leaves out
// the value of a disabled button, and some browsers keep it disabled after a reload.
const PATIENCE = 10000;

function hold(form, button) {
  form.dataset.held = "";
  if (button) button.setAttribute("aria-disabled", "true");
  // The browser may stay on the page: somebody stops the request, or the answer is a file.
  setTimeout(() => release(form), PATIENCE);
}

function release(form) {
  delete form.dataset.held;
  for (const field of form.elements) field.removeAttribute("aria-disabled");
}

function isPost(event) {
  return ((event.submitter && event.submitter.getAttribute("formmethod")) || event.target.method) === "post";
}

// During a restart, a browser would replace a page with an error of its own, and the entries would be
// lost. So a form into which people type is sent only if the server answers.
const TYPED = "input:not([type=hidden], [type=checkbox], [type=radio]), textarea";
const AGAIN = 2000;

// A server that is stuck accepts the request, and never answers.
async function answers() {
  const limit = new AbortController(), timer = setTimeout(() => limit.abort(), PATIENCE);
  try {
    const asked = { cache: "no-store", signal: limit.signal };
    return (await fetch(document.querySelector("link[rel=icon]").href, asked)).ok;
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
  }
}

function note(form, text) {
  const place = document.getElementById("failure") || Object.assign(document.createElement("p"), { className: "problem", id: "failure" });
  place.setAttribute("role", "alert");
  if (place.textContent !== text) place.textContent = text;
  form.append(place);
  place.scrollIntoView({ block: "nearest" });
}

async function sendIfItAnswers(form, button) {
  if ("asking" in form.dataset) return;
  form.dataset.asking = "";
  const isThere = await answers();
  delete form.dataset.asking;
  if (!isThere) return waitForAnswer(form);
  document.getElementById("failure")?.remove();
  form.dataset.answered = "";
  form.requestSubmit(button);
  delete form.dataset.answered;
}

async function waitForAnswer(form) {
  note(form, "The server does not answer. Nothing was sent, and your entries are kept.");
  if ("waiting" in form.dataset) return;
  form.dataset.waiting = "";
  while (!await answers()) await new Promise((resolve) => setTimeout(resolve, AGAIN));
  delete form.dataset.waiting;
  if (document.getElementById("failure")) note(form, "The server answers again. Send the form once more.");
}

// Ask before an action that cannot be undone.
document.addEventListener("submit", (event) => {
  if ("held" in event.target.dataset) event.preventDefault();
  if (event.defaultPrevented) return;
  if (isPost(event) && event.target.querySelector(TYPED) && !("answered" in event.target.dataset)) {
    event.preventDefault();
    sendIfItAnswers(event.target, event.submitter);
    return;
  }
  const question = event.target.dataset.confirm || (event.submitter && event.submitter.dataset.confirm);
  if (question && !confirm(question)) event.preventDefault();
  if (!event.defaultPrevented && isPost(event)) hold(event.target, event.submitter);
});

addEventListener("pageshow", () => document.querySelectorAll("form[data-held]").forEach(release));

turnNewFields();
showZone();
refreshTimes();
setInterval(refreshTimes, 1000);
