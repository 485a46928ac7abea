// The gallery: pictures of cells, labelled by keys or by dragging them to a class.
import { classOf, classes, element, exclude, facts, keys, label, read, renew, say, swatch, whenLabelsChange, write } from "./app.js";
import { run } from "./jobs.js";
import { showVotes } from "./votes.js";

const [KIND, CLASS, WELL, N, LABELLED] = ["kind", "class", "from", "n", "labelled"].map((id) => document.getElementById(id));
const [crops, lead, bins, votes] = ["crops", "lead", "bins", "votes"].map((id) => document.getElementById(id));
const TITLES = {
  random: "random cells", predicted: "the surest", doubtful: "the most doubtful", similar: "cells like the chosen one",
  likeliest: "a row from least to most likely", labelled: "labelled cells", "to check": "labels to check",
};
let cells = [];
let current = 0;
let chosen = new Set();
let seed = 0;
let model = null;
let asked = 0;
let byKeys = false;

// What to look for.

function draw() {
  KIND.replaceChildren(...facts().kinds.map((kind) => element("option", { value: kind }, TITLES[kind])));
  WELL.replaceChildren(element("option", { value: "" }, "all wells"),
    ...facts().wells.map(({ plate, well }) => element("option", { value: JSON.stringify([plate, well]) }, `${plate} ${well}`.trim())));
  const wanted = new URLSearchParams(location.search);
  if (facts().kinds.includes(wanted.get("kind"))) KIND.value = wanted.get("kind");
  if (wanted.get("well")) WELL.value = JSON.stringify([wanted.get("plate") ?? "", wanted.get("well")]);
  if (wanted.get("labelled")) LABELLED.checked = true;
  drawClasses(wanted.get("class"));
}

function drawClasses(wanted) {
  const asks = ["predicted", "likeliest", "labelled"].includes(KIND.value);
  document.getElementById("class-box").hidden = !asks;
  const names = KIND.value === "labelled" || !facts().model ? classes().map((one) => one.name) : facts().model;
  const before = wanted ?? CLASS.value;
  CLASS.replaceChildren(...names.map((name) => element("option", { value: name }, name)));
  if (names.includes(before)) CLASS.value = before;
}

function question() {
  const found = new URLSearchParams({ kind: KIND.value, n: N.value, seed: String(seed) });
  if (!document.getElementById("class-box").hidden) found.set("class", CLASS.value);
  if (WELL.value) {
    const [plate, well] = JSON.parse(WELL.value);
    found.set("plate", plate);
    found.set("well", well);
  }
  if (LABELLED.checked) found.set("labelled", "1");
  if (KIND.value === "similar" && model) {
    found.set("image", String(model.image));
    found.set("object", String(model.object));
  }
  return found;
}

async function fetchCells() {
  if (!facts().described) return describe();
  if (KIND.value === "similar" && !model) return say("Choose a cell first; then ask for cells like it.");
  asked += 1;
  const turn = asked;
  const found = await read(`/api/gallery?${question()}`);
  if (!found || turn !== asked) return null; // another question was asked in the meantime
  cells = found.cells;
  current = 0;
  chosen = new Set();
  const told = { similar: model ? `like cell ${model.object} of image ${model.image}` : "", likeliest: `from least to most likely ${CLASS.value}` }[KIND.value] ?? "";
  lead.textContent = cells.length
    ? `${cells.length.toLocaleString()} of ${found.total.toLocaleString()} cells ${told}`.trim()
    : "There is no such cell. Ask for others, or tick “also labelled ones”.";
  drawCrops();
  say("");
  document.body.dataset.ready = String(cells.length);
  return null;
}

function describe() {
  const button = element("button", { type: "button", class: "main", onclick: async () => {
    const ended = await run("describe", document.getElementById("job"));
    if (ended && ended.state === "done") location.reload();
  } }, "Describe the cells now");
  lead.className = "note row";
  lead.replaceChildren(element("span", {}, "Before cells can be shown here, each is measured and described; that takes a moment for each field."), button);
  document.body.dataset.ready = "0";
}

// Pictures.

const percent = (share) => (share === null ? "" : `${(100 * share).toFixed(0)} %`);
const saidOf = (cell) => classes().find((one) => one.name === cell.said) ?? null;

function nameOf(cell) {
  const known = classOf(cell.class);
  const words = [`cell ${cell.object} of image ${cell.image}`, cell.well, cell.excluded ? "wrong outline" : null,
    known ? `labelled ${known.name}` : null, cell.said ? `predicted ${cell.said} ${percent(cell.probability)}` : null];
  return words.filter(Boolean).join(", ");
}

// The label, and what the model says: by name where there is no label, else only where it differs.
function badges(cell) {
  const known = classOf(cell.class);
  const said = saidOf(cell);
  const predicted = known && said
    ? (said.id === known.id ? [] : ["→", swatch(said)])
    : [element("span", { class: "said-class", colour: said ? said.colour : null, title: cell.said }, cell.said || cell.well || `image ${cell.image}`)];
  return [
    cell.excluded ? element("span", { class: "badge" }, "×") : null,
    known ? swatch(known) : null,
    cell.check ? element("span", { class: "check", title: "Came from other masks" }, "?") : null,
    ...predicted,
    cell.said ? element("span", { class: "chance" }, percent(cell.probability)) : null,
  ].filter(Boolean);
}

function drawCrops() {
  crops.replaceChildren(...cells.map((cell, place) => element("div", {
    class: "crop", role: "option", draggable: "true", tabindex: place === current ? "0" : "-1", "data-place": String(place),
    "aria-selected": String(chosen.has(place)), "aria-label": nameOf(cell),
    onclick: (event) => point(place, event), ondblclick: () => open(cell), ondragstart: (event) => drag(place, event),
  }, element("img", { src: `/api/cells/${cell.image}/${cell.object}/crop`, alt: "", loading: "lazy", draggable: "false" }),
  element("span", { class: "marks" }, ...badges(cell)))));
  drawBins();
}

function redraw(places) {
  for (const place of places) {
    const made = crops.children[place];
    if (!made) continue;
    made.querySelector(".marks").replaceChildren(...badges(cells[place]));
    made.setAttribute("aria-label", nameOf(cells[place]));
    made.classList.toggle("done", cells[place].class !== null || cells[place].excluded);
  }
  drawBins();
}

function mark() {
  Array.from(crops.children).forEach((made, place) => {
    made.setAttribute("aria-selected", String(chosen.has(place)));
    made.tabIndex = place === current ? 0 : -1;
  });
}

// Choosing: the cell with the focus, or all that are marked.

const pick = () => (chosen.size ? [...chosen].sort((a, b) => a - b) : cells.length ? [current] : []).map((place) => cells[place]);
const placesOf = (some) => some.map((cell) => cells.indexOf(cell));

function point(place, event) {
  if (event.shiftKey) {
    const [from, to] = [Math.min(current, place), Math.max(current, place)];
    for (let at = from; at <= to; at += 1) chosen.add(at);
  } else if (event.ctrlKey || event.metaKey) {
    if (!chosen.delete(place)) chosen.add(place);
  } else chosen = new Set();
  current = place;
  mark();
  crops.children[place].focus();
}

function go(by, extend = false) {
  if (!cells.length) return;
  const to = Math.min(Math.max(current + by, 0), cells.length - 1);
  if (extend) {
    chosen.add(current);
    chosen.add(to);
  }
  current = to;
  mark();
  crops.children[current].focus();
  crops.children[current].scrollIntoView({ block: "nearest" });
}

function perRow() {
  const tops = Array.from(crops.children, (made) => made.offsetTop);
  return Math.max(1, tops.filter((top) => top === tops[0]).length);
}

function toggle() {
  if (!chosen.delete(current)) chosen.add(current);
  mark();
}

// Labelling.

async function give(classId, some = pick()) {
  if (!some.length) return;
  const answer = await label(some, classId);
  if (!answer) return;
  redraw(placesOf(some));
  const known = classOf(classId);
  say(`${some.length === 1 ? `Cell ${some[0].object} of image ${some[0].image}` : `${some.length} cells`}: ${known ? known.name : "no class"}`);
  if (chosen.size) {
    chosen = new Set();
    mark();
  } else if (classId !== null) forward();
}

// The next cell without a label.
function forward() {
  for (let at = current + 1; at < cells.length; at += 1) {
    if (cells[at].class === null && !cells[at].excluded) return go(at - current);
  }
  return go(0);
}

async function wrong() {
  const some = pick();
  if (!some.length) return;
  const answer = await exclude(some, !some.every((cell) => cell.excluded));
  if (answer) redraw(placesOf(some));
}

async function confirmAll() {
  const some = cells.filter((cell) => cell.class === null && !cell.excluded && cell.said);
  if (!some.length) return say("No prediction is left to confirm; fetch more cells.");
  const answer = await write("/api/gallery/confirm", () => ({ cells: some.map(({ image, object, event }) => ({ image, object, event: event ?? 0 })) }));
  if (!answer) return null;
  const now = new Map(answer.labels.map((one) => [`${one.image} ${one.object}`, one]));
  for (const cell of some) Object.assign(cell, now.get(`${cell.image} ${cell.object}`));
  redraw(placesOf(some));
  return say(`${some.length} predictions are confirmed; Ctrl+Z takes that back.`);
}

// Bins: a place for each class.

function drawBins() {
  const all = [...classes().map((one) => [one, (cell) => cell.class === one.id]), [null, null]];
  renew(bins, ...all.map(([one, mine]) => {
    const inside = mine ? cells.filter(mine) : [];
    const title = one ? [swatch(one), " ", element("strong", {}, element("bdi", {}, one.name)), element("span", { class: "quiet" }, ` ${inside.length} here`)] : [element("span", { class: "quiet" }, "No class")];
    const small = inside.slice(-12).map((cell) => element("img", { src: `/api/cells/${cell.image}/${cell.object}/crop`, alt: "", width: 36, height: 36 }));
    return element("div", {
      class: "bin", role: "button", tabindex: "0", "aria-label": one ? `Label the chosen cells ${one.name}` : "Take the labels of the chosen cells off",
      onclick: () => give(one ? one.id : null),
      onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); event.stopPropagation(); give(one ? one.id : null); } },
      ondragover: (event) => { event.preventDefault(); event.currentTarget.classList.add("over"); },
      ondragleave: (event) => event.currentTarget.classList.remove("over"),
      ondrop: (event) => drop(one, event),
    }, element("p", { class: "row" }, ...title), element("div", { class: "smalls" }, ...small));
  }));
}

function drag(place, event) {
  if (!chosen.has(place)) {
    chosen = new Set();
    current = place;
    mark();
  }
  event.dataTransfer.setData("text/plain", "cells");
  event.dataTransfer.effectAllowed = "move";
}

function drop(one, event) {
  event.preventDefault();
  event.currentTarget.classList.remove("over");
  give(one ? one.id : null);
}

const open = (cell) => { if (cell) location.href = `/fields/${cell.image}?cell=${cell.object}`; };
const remember = () => { if (KIND.value === "similar") model = pick()[0] ?? model; };
const similar = () => { KIND.value = "similar"; remember(); drawClasses(); fetchCells(); };

async function more() {
  seed += 1;
  remember();
  await fetchCells();
  crops.firstElementChild?.focus();
}

// What is shown is always what is asked for. Keys walk on in a list of choices; after a click they are for the pictures.
const query = document.getElementById("query");
query.addEventListener("keydown", () => { byKeys = true; });
query.addEventListener("pointerdown", () => { byKeys = false; });
query.addEventListener("change", async (event) => {
  if (event.target === KIND) {
    remember();
    drawClasses();
  }
  await fetchCells();
  if (!byKeys) crops.firstElementChild?.focus();
});
query.addEventListener("submit", (event) => { event.preventDefault(); more(); });
document.getElementById("confirm").addEventListener("click", confirmAll);
whenLabelsChange(async () => {
  drawClasses();
  await again();
});

// What holds now of the cells that are shown; the pictures stay.
async function again() {
  const images = [...new Set(cells.map((cell) => cell.image))];
  const found = await Promise.all(images.map((image) => read(`/api/fields/${image}/labels`)));
  const now = new Map();
  found.forEach((one) => one && one.cells.forEach((cell) => now.set(`${cell.image} ${cell.object}`, cell)));
  for (const cell of cells) {
    const { class: id, excluded, check, event } = now.get(`${cell.image} ${cell.object}`) ?? cell;
    Object.assign(cell, { class: id, excluded, check, event });
  }
  redraw(cells.map((_, place) => place));
}

const labelKeys = Object.fromEntries(Array.from({ length: 9 }, (_, at) => [String(at + 1),
  ["label the chosen cells", () => (classes()[at] ? give(classes()[at].id) : say("There is no such class."))]]));
keys({
  ...labelKeys,
  0: ["take labels off", () => give(null)],
  x: ["wrong outline, or right again", wrong],
  ArrowLeft: ["walk from picture to picture", () => go(-1)],
  ArrowRight: ["walk from picture to picture", () => go(1)],
  ArrowUp: ["walk from picture to picture", () => go(-perRow())],
  ArrowDown: ["walk from picture to picture", () => go(perRow())],
  "Shift+ArrowLeft": ["choose several", () => go(-1, true)],
  "Shift+ArrowRight": ["choose several", () => go(1, true)],
  Space: ["choose or leave out", toggle],
  a: ["choose all", () => { chosen = new Set(cells.keys()); mark(); }],
  Escape: ["choose none", () => { chosen = new Set(); mark(); }],
  Enter: ["confirm all predictions shown", confirmAll],
  r: ["fetch others", more],
  s: ["cells like this one", similar],
  v: ["who voted on this cell", () => pick()[0] && showVotes(votes, pick()[0])],
  f: ["open its field", () => open(pick()[0])],
});
draw();
fetchCells();
