// A cursor that all charts of a page share: the values at the time under the pointer.
"use strict";

const SVG = "http://www.w3.org/2000/svg";

function chartsOf() {
  return [...document.querySelectorAll("svg[data-points]")];
}

// The point whose time is nearest to a share of the axis.
function pointAt(svg, share) {
  const points = JSON.parse(svg.dataset.points);
  return points.length ? points[Math.min(Math.max(Math.floor(share * points.length), 0), points.length - 1)] : null;
}

function show(share) {
  for (const svg of chartsOf()) {
    const left = Number(svg.dataset.left), right = Number(svg.dataset.right), point = pointAt(svg, share);
    let line = svg.querySelector(".cursor");
    if (!line) {
      line = svg.appendChild(document.createElementNS(SVG, "line"));
      line.setAttribute("class", "cursor");
      line.setAttribute("y1", "0");
      line.setAttribute("y2", svg.dataset.floor);
    }
    const x = left + share * (right - left);
    line.setAttribute("x1", x);
    line.setAttribute("x2", x);
    const reading = svg.parentElement.querySelector(".reading");
    if (reading && point) reading.textContent = point;
  }
}

function hide() {
  for (const line of document.querySelectorAll("svg[data-points] .cursor")) line.remove();
  for (const reading of document.querySelectorAll(".reading")) reading.textContent = "";
}

document.addEventListener("pointermove", (event) => {
  const svg = event.target.closest && event.target.closest("svg[data-points]");
  if (!svg) return hide();
  const box = svg.getBoundingClientRect(), width = svg.viewBox.baseVal.width;
  const left = Number(svg.dataset.left), right = Number(svg.dataset.right);
  const share = ((event.clientX - box.left) / box.width * width - left) / (right - left);
  if (share < 0 || share > 1) return hide();
  show(share);
});

// The page's icon shows trouble as long as a part of the page does.
function showTrouble() {
  const icon = document.querySelector("link[rel=icon][data-trouble]");
  const parts = document.querySelectorAll("[data-has-trouble]");
  if (!icon || !parts.length) return;
  const is = [...parts].some((part) => part.dataset.hasTrouble === "1");
  const wanted = is ? icon.dataset.trouble : icon.dataset.calm;
  if (icon.getAttribute("href") !== wanted) icon.setAttribute("href", wanted);
}

for (const name of ["renewed", "htmx:afterSwap"]) document.addEventListener(name, showTrouble);
