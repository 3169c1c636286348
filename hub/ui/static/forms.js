// Forms with many choices: find one by its name, and see how many are chosen.
"use strict";

for (const part of document.querySelectorAll("[data-needs-script]")) part.hidden = false;

document.addEventListener("input", (event) => {
  const list = event.target.dataset.filters && document.getElementById(event.target.dataset.filters);
  if (!list) return;
  const wanted = event.target.value.trim().toLowerCase();
  for (const one of list.children) one.hidden = !one.textContent.toLowerCase().includes(wanted);
});

// The choice of one event ends the choice of all events.
document.addEventListener("change", (event) => {
  const list = event.target.closest("#event-names");
  const some = list && event.target.checked && document.querySelector("input[name=which][value=some]");
  if (some) some.checked = true;
  count();
});

function count() {
  for (const place of document.querySelectorAll("[data-chosen]")) {
    const form = place.closest("form"), every = form.querySelector("input[name=which][value=every]:checked");
    const many = form.querySelectorAll("input[name=events]:checked").length;
    place.textContent = every ? "all events of the platform" : `${many} chosen`;
  }
}

count();
