// The page of the plate: a grid of wells in the colour of a measure, and what is known of the chosen well.
import { element, facts, keys, read, renew, whenLabelsChange } from "./app.js";

let plate = facts();
let chosen = null;
const choice = document.getElementById("measure");
const fields = new Map(plate.fields.map((one) => [one.number, one]));
const MARKS = { positive: "+", negative: "−" };

function titleOf(measure) {
  if (measure.startsWith("Share_")) return `Share of ${measure.slice(6)}`;
  return measure.startsWith("Mean_") ? `Mean of ${measure.slice(5)}` : measure[0].toUpperCase() + measure.slice(1);
}

function written(value) {
  if (value === null) return "–";
  if (plate.measure.startsWith("Share_")) return `${(100 * value).toFixed(value < 0.1 ? 1 : 0)} %`;
  return Math.abs(value) >= 1000 ? Math.round(value).toLocaleString() : String(Number(value.toPrecision(3)));
}

const nameOf = (row) => (row >= 26 ? String.fromCharCode(64 + Math.floor(row / 26)) : "") + String.fromCharCode(65 + (row % 26));

// Shares are compared with all cells, everything else with the wells that are there.
function scale() {
  const values = plate.wells.map((one) => one.value).filter((value) => value !== null);
  if (plate.measure.startsWith("Share_")) return [0, 1];
  const low = Math.min(...values, plate.measure.startsWith("Mean_") ? Infinity : 0);
  return values.length ? [low, Math.max(...values)] : [0, 1];
}

function draw() {
  const [low, high] = scale();
  document.getElementById("least").textContent = written(low);
  document.getElementById("most").textContent = written(high);
  const plates = [...new Set(plate.wells.map((one) => one.plate))];
  renew(document.getElementById("plates"), ...plates.map((name) => {
    const wells = plate.wells.filter((one) => one.plate === name);
    const placed = wells.filter((one) => one.row !== null);
    const others = wells.filter((one) => one.row === null);
    return element("section", { "aria-label": name ? `Plate ${name}` : "Plate" },
      plates.length > 1 || name ? element("h2", {}, name) : null,
      placed.length ? grid(placed, low, high) : null,
      others.length ? element("div", { class: "loose" }, ...others.map((one) => well(one, low, high))) : null);
  }));
  show(chosen && plate.wells.find((one) => one.plate === chosen.plate && one.well === chosen.well), false);
}

function grid(wells, low, high) {
  const rows = wells.map((one) => one.row);
  const columns = wells.map((one) => one.column);
  const [top, left, bottom, right] = [Math.min(...rows), Math.min(...columns), Math.max(...rows), Math.max(...columns)];
  const at = new Map(wells.map((one) => [`${one.row} ${one.column}`, one]));
  const across = Array.from({ length: right - left + 1 }, (_, i) => left + i);
  const head = element("tr", {}, element("td"), ...across.map((column) => element("th", { scope: "col" }, column + 1)));
  const lines = Array.from({ length: bottom - top + 1 }, (_, i) => top + i).map((row) => element("tr", {},
    element("th", { scope: "row" }, nameOf(row)),
    ...across.map((column) => {
      const one = at.get(`${row} ${column}`);
      return element("td", {}, one ? well(one, low, high) : element("span", { class: "no-well" }));
    })));
  return element("div", { class: "scroll" }, element("table", { class: `wells${across.length > 14 ? " many" : ""}` },
    element("thead", {}, head), element("tbody", {}, ...lines)));
}

function well(one, low, high) {
  const share = one.value === null ? 0 : high > low ? (one.value - low) / (high - low) : 1;
  const mark = MARKS[one.layout.control] ?? "";
  const gone = one.fields.some((number) => fields.get(number).missing.length);
  const said = [one.well, `${titleOf(plate.measure)} ${written(one.value)}`, one.layout.control ? `${one.layout.control} control` : "", gone ? "images are gone" : ""];
  const button = element("button", {
    type: "button", class: `well${gone ? " gone" : ""}`, "aria-label": said.filter(Boolean).join(", "), "data-well": `${one.plate} ${one.well}`,
    onclick: () => show(one), ondblclick: () => open(one), onkeydown: (event) => { if (event.key === "Enter") { event.preventDefault(); open(one); } },
    onfocus: () => show(one),
  }, element("span", { class: "value" }, written(one.value)), element("span", { class: "mark" }, mark || (gone ? "!" : "")));
  button.style.setProperty("--share", `${Math.round(45 * Math.min(1, Math.max(0, share)))}%`);
  return button;
}

const open = (one) => location.assign(`/fields/${one.fields[0]}`);

function show(one) {
  chosen = one;
  for (const button of document.querySelectorAll(".well")) {
    button.setAttribute("aria-pressed", String(Boolean(one) && button.dataset.well === `${one.plate} ${one.well}`));
  }
  const place = document.getElementById("well");
  if (!one) {
    place.replaceChildren(element("p", { class: "quiet" }, "Choose a well to see its fields; Enter or a double click opens it."));
    return;
  }
  const layout = Object.entries(one.layout).filter(([, value]) => value);
  place.replaceChildren(
    element("h2", {}, [one.plate, one.well].filter(Boolean).join(" ")),
    element("dl", { class: "facts" },
      element("div", {}, element("dt", {}, titleOf(plate.measure)), element("dd", {}, written(one.value))),
      ...layout.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value)))),
    element("ul", { class: "fields" }, ...one.fields.map((number) => {
      const field = fields.get(number);
      const told = [field.cells === null ? "not segmented" : `${field.cells} cells`, field.labels ? `${field.labels} labels` : "", field.waiting ? `${field.waiting} unplaced` : "",
        field.missing.length ? "images are gone" : ""].filter(Boolean).join(", ");
      return element("li", {}, element("a", { href: `/fields/${number}` }, field.site ? `Site ${field.site}` : `Image ${number}`), element("span", { class: "quiet" }, ` ${told}`));
    })));
}

function walk(down, right) {
  const now = document.activeElement?.closest?.(".well") ?? null;
  const all = [...document.querySelectorAll(".well")];
  if (!now) { all[0]?.focus(); return; }
  const from = now.getBoundingClientRect();
  const ahead = all.map((one) => ({ one, box: one.getBoundingClientRect() })).filter(({ box }) =>
    down ? (box.top - from.top) * down > 4 && Math.abs(box.left - from.left) < 4 : (box.left - from.left) * right > 4 && Math.abs(box.top - from.top) < 4);
  ahead.sort((a, b) => Math.abs(a.box.top - from.top) + Math.abs(a.box.left - from.left) - Math.abs(b.box.top - from.top) - Math.abs(b.box.left - from.left));
  ahead[0]?.one.focus();
}

async function update() {
  const found = await read(`/api/plate?measure=${encodeURIComponent(choice.value)}`);
  if (!found) return;
  plate = found;
  for (const one of plate.fields) fields.set(one.number, one);
  history.replaceState(null, "", `/plate?measure=${encodeURIComponent(choice.value)}`);
  draw();
}

if (choice) {
  choice.append(...plate.measures.map((measure) => element("option", { value: measure, selected: measure === plate.measure }, titleOf(measure))));
  choice.addEventListener("change", update);
  whenLabelsChange(update);
  keys({
    ArrowUp: ["go from well to well", () => walk(-1, 0)], ArrowDown: ["go from well to well", () => walk(1, 0)],
    ArrowLeft: ["go from well to well", () => walk(0, -1)], ArrowRight: ["go from well to well", () => walk(0, 1)],
    Enter: ["open the well's first field", () => { if (chosen) open(chosen); }],
  });
  draw();
} else {
  whenLabelsChange(() => location.reload());
}
