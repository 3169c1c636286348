// Lists whose rows can be selected: select all of them, and see how many are selected.
"use strict";

function boxes() {
  return [...document.querySelectorAll("input[form=retry][type=checkbox]")];
}

function tellSelected() {
  const all = boxes(), many = all.filter((box) => box.checked).length;
  for (const place of document.querySelectorAll("[data-selected]")) place.textContent = many ? `${many} selected` : "";
  for (const button of document.querySelectorAll("[data-needs-choice]")) button.disabled = !many;
  for (const head of document.querySelectorAll("[data-select-all]")) {
    head.hidden = false;
    head.checked = many > 0 && many === all.length;
    head.indeterminate = many > 0 && many < all.length;
  }
}

document.addEventListener("change", (event) => {
  if ("selectAll" in event.target.dataset) for (const box of boxes()) box.checked = event.target.checked;
  tellSelected();
});
document.addEventListener("renewed", tellSelected);
addEventListener("pageshow", tellSelected);
tellSelected();
