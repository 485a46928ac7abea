"use strict";

// Dark or light: the system's choice until the button is pressed.
const root = document.documentElement;
const theme = document.getElementById("theme");
const system = matchMedia("(prefers-color-scheme: dark)");

function isDark() {
  return root.dataset.theme ? root.dataset.theme === "dark" : system.matches;
}

function nameTheme() {
  theme.textContent = isDark() ? "Light" : "Dark";
}

theme.addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  nameTheme();
});
system.addEventListener("change", nameTheme);
nameTheme();
theme.hidden = false;

// Tables sorted by the column whose header is pressed; cells without a value stay last.
function compare(a, b, numeric) {
  return numeric ? a - b : a.localeCompare(b, undefined, { numeric: true });
}

function sortBy(table, column, falling) {
  const body = table.tBodies[0];
  const numeric = table.tHead.rows[0].cells[column].classList.contains("number");
  const value = (row) => row.cells[column].dataset.value;
  const rows = Array.from(body.rows);
  const known = rows.filter((row) => value(row) !== undefined);
  const unknown = rows.filter((row) => value(row) === undefined);
  known.sort((a, b) => (falling ? -1 : 1) * compare(value(a), value(b), numeric));
  body.append(...known, ...unknown);
}

for (const table of document.querySelectorAll("table.sortable")) {
  const heads = Array.from(table.tHead.rows[0].cells);
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const before = head.getAttribute("aria-sort");
      const opposite = before === "descending" ? "ascending" : "descending";
      const order = before ? opposite : head.dataset.first;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", order);
      sortBy(table, column, order === "descending");
    });
  });
}
