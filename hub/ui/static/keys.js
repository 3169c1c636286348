// Keys: / searches, f finds an id, j and k go through a list, Enter or a click anywhere in a row opens it, r renews
// the page, and ? explains this. No key is taken from a field. The dialog of the keys switches them
// off for people whose speech input or unsteady hands would press them.
"use strict";

const HELP = [["/", "search"], ["f", "find an id or a name"], ["j", "next row"], ["k", "previous row"], ["Enter", "open the row"],
  ["r", "reload the page"], ["?", "these keys"]];
const KEYS = "tocsin-keys";
let here = -1, on = true;
try { on = localStorage.getItem(KEYS) !== "off"; } catch { /* A browser may forbid storage. */ }

function rows() {
  return [...document.querySelectorAll("main tbody tr")].filter((row) => row.querySelector("a[href]") && row.offsetParent);
}

function go(step) {
  const all = rows();
  if (!all.length) return;
  const focused = all.findIndex((row) => row.contains(document.activeElement));
  here = Math.min(Math.max((focused < 0 ? here : focused) + step, 0), all.length - 1);
  all[here].querySelector("a[href]").focus();
  all[here].scrollIntoView({ block: "nearest" });
}

function search() {
  const field = document.querySelector("main input[type=search]") || document.querySelector("main form[role=search] input");
  const deliveries = document.querySelector(".menu a[href$='/deliveries']");
  if (!field && deliveries) location.href = `${deliveries.href}#text`;
  if (!field) return;
  field.focus();
  field.select();
}

function find() {
  const field = document.getElementById("find");
  if (field) field.focus();
}

function turn(to) {
  on = to;
  try { localStorage.setItem(KEYS, on ? "on" : "off"); } catch { /* The choice lasts for this page only. */ }
}

function choice() {
  const label = document.createElement("label"), box = document.createElement("input");
  Object.assign(box, { type: "checkbox", checked: on });
  box.addEventListener("change", () => turn(box.checked));
  label.className = "check";
  label.append(box, " The keys are on");
  return label;
}

function help() {
  let dialog = document.getElementById("keys");
  if (!dialog) {
    dialog = document.createElement("dialog");
    dialog.id = "keys";
    dialog.setAttribute("aria-labelledby", "help-title");
    const title = document.createElement("h2"), list = document.createElement("dl"), form = document.createElement("form");
    title.id = "help-title";
    title.textContent = "Keys";
    list.className = "facts";
    for (const [key, words] of HELP) {
      const name = document.createElement("dt"), said = document.createElement("dd");
      name.append(Object.assign(document.createElement("kbd"), { textContent: key }));
      said.textContent = words;
      list.append(name, said);
    }
    form.method = "dialog";
    form.append(Object.assign(document.createElement("button"), { textContent: "Close" }));
    dialog.append(title, list, choice(), form);
    document.body.append(dialog);
  }
  dialog.showModal();
}

// On a page without a search field, the key / opens the deliveries with this hash.
if (location.hash === "#text") search();

// A key that was meant for a field must not throw away a form that somebody fills in, or a selection.
function reload() {
  const usual = (list) => Math.max(0, [...list.options].findIndex((one) => one.defaultSelected));
  const isFilled = (field) => field.matches("select") ? field.selectedIndex !== usual(field)
    : field.value !== field.defaultValue || field.checked !== field.defaultChecked;
  const fields = [...document.querySelectorAll("main form[method=post]"), ...document.querySelectorAll("form#retry")]
    .flatMap((form) => [...form.elements]).filter((field) => field.matches("input, textarea, select"));
  if (!fields.some(isFilled)) location.reload();
}

const ACTS = { "/": search, f: find, j: () => go(1), k: () => go(-1), r: reload, "?": help };

document.addEventListener("keydown", (event) => {
  const inField = event.target.closest("input, select, textarea, [contenteditable]");
  if (!on || inField || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const act = ACTS[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

for (const button of document.querySelectorAll("[data-keys]")) {
  button.hidden = false;
  button.addEventListener("click", help);
}

// A click on a row opens it, unless the click is on a link or a field, or text is selected.
document.addEventListener("click", (event) => {
  const row = event.target.closest("main tbody tr");
  if (!row || event.defaultPrevented || event.button || String(getSelection())) return;
  if (event.target.closest("a, button, input, select, textarea, label, summary, form, .select")) return;
  const link = row.querySelector("a[href]");
  if (!link) return;
  if (event.ctrlKey || event.metaKey) window.open(link.href, "_blank", "noopener");
  else link.click();
});

// The menu's second level closes at a click elsewhere, when the focus leaves it, and with Escape.
function closeMenu(elsewhere) {
  for (const menu of document.querySelectorAll("details.more[open]")) {
    if (!menu.contains(elsewhere)) menu.open = false;
  }
}

for (const name of ["click", "focusin"]) document.addEventListener(name, (event) => closeMenu(event.target));
document.addEventListener("keydown", (event) => {
  const menu = event.key === "Escape" && event.target.closest("details.more[open]");
  if (!menu) return;
  closeMenu(null);
  menu.querySelector("summary").focus();
});

for (const body of document.querySelectorAll("main tbody")) {
  if (body.querySelector("tr a[href]")) body.classList.add("opens");
}
