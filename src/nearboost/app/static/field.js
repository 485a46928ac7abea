// The page of a field: a picture, its cells, and the hands that label them.
import { classes, classOf, exclude, facts, keys, label, read, refresh, say, send, whenLabelsChange, write } from "./app.js";
import { Cells, isFree, paintCells, pathOf, stroke } from "./cells.js";
import { drawCell, drawChannels, drawClasses, drawOutlines, drawWaiting } from "./panels.js";
import { Viewer } from "./viewer.js";
import { showVotes } from "./votes.js";

const { number, before, after, display, tile } = facts();
const canvas = document.getElementById("canvas");
const boxButton = document.getElementById("box");
let field = null;
let cells = null;
let viewer = null;
let current = null; // the cell that keys are about
let walking = false; // it was reached by keys, so that a label goes on to the next one
const chosen = new Set(); // more cells that a label is for
let placing = null; // a label without a cell
let box = null; // that is being drawn

const address = (role, { low, high }, level, row, column) =>
  `/api/fields/${number}/tiles/${encodeURIComponent(role)}/${level}/${row}/${column}?low=${low}&high=${high}`;

// Drawing.

function over(context, view) {
  if (!cells) return;
  paintCells(context, view, cells, { display, chosen, current });
  const { dots, view: at } = view;
  context.setTransform(dots * at.scale, 0, 0, dots * at.scale, dots * at.scale * (0.5 - at.x), dots * at.scale * (0.5 - at.y));
  for (const one of field.waiting) {
    const colour = one === placing ? "#fff" : (classOf(one.label.class)?.colour ?? "#ff6e5a");
    if (one.polygons.length) stroke(context, pathOf(one.polygons), colour, 2 / at.scale, [6 / at.scale, 4 / at.scale]);
  }
  context.setTransform(dots, 0, 0, dots, 0, 0);
  if (box) {
    Object.assign(context, { strokeStyle: "#fff", lineWidth: 1.5, fillStyle: "rgb(255 255 255 / .15)" });
    const [x, y, wide, high] = [Math.min(box.from.x, box.to.x), Math.min(box.from.y, box.to.y), Math.abs(box.to.x - box.from.x), Math.abs(box.to.y - box.from.y)];
    context.fillRect(x, y, wide, high);
    context.strokeRect(x, y, wide, high);
  }
}

const subjects = () => [...new Set([...chosen, ...(current ? [current] : [])])];

function drawPanels() {
  drawCell(document.getElementById("cell"), subjects(), current, {
    wrong: markWrong,
    votes: () => showVotes(document.getElementById("votes"), current),
  });
  drawClasses(document.getElementById("classes"), cells?.all ?? [], give);
  drawWaiting(field?.waiting ?? [], { placing, show: showWaiting, place, discard });
}

function redraw() {
  viewer?.draw();
  drawPanels();
}

// Choosing.

function go(cell, byKeys) {
  if (!cell) return;
  if (cell !== current) document.getElementById("votes").hidden = true;
  current = cell;
  walking = byKeys;
  if (byKeys) viewer.show(cell.x, cell.y);
  say(told(cell));
  redraw();
}

function told(cell) {
  const words = [`Cell ${cell.object}`, classOf(cell.class)?.name ?? (cell.excluded ? "wrong outline" : "no label")];
  if (cell.said) words.push(`predicted ${cell.said} ${Math.round(100 * (cell.probability ?? 0))} %`);
  return words.join(", ");
}

function clear() {
  chosen.clear();
  current = null;
  placing = null;
  redraw();
}

function mark() {
  if (!current) return;
  if (!chosen.delete(current)) chosen.add(current);
  say(`${chosen.size} cells are chosen`);
  redraw();
}

function choose(found) {
  for (const one of found) chosen.add(one);
  current = null;
  say(`${chosen.size} cells are chosen`);
  redraw();
}

function chooseInView() {
  const [low, high] = [viewer.toImage(0, 0), viewer.toImage(viewer.size.width, viewer.size.height)];
  choose(cells.inside(low.x, low.y, high.x, high.y));
}

const walk = (right, down) => go(current ? cells.towards(current, right, down) : nearMiddle(), true);

function goFree(by) {
  const next = cells.next(current, by, isFree);
  if (next) go(next, true);
  else say("Every cell here has a label.");
}

function nearMiddle() {
  const { x, y } = viewer.toImage(viewer.size.width / 2, viewer.size.height / 2);
  const far = (one) => Math.hypot(one.x - x, one.y - y);
  return cells.all.reduce((best, one) => (best && far(best) <= far(one) ? best : one), null);
}

// Labelling.

async function give(classId) {
  const them = subjects();
  if (!them.length) {
    say("Choose a cell first: click one, or press an arrow key.");
    return;
  }
  const goesOn = walking && them.length === 1 && classId !== null;
  chosen.clear();
  if (goesOn) go(cells.next(current, 1, (one) => isFree(one) && one !== them[0]), true); // at once: quick hands do not wait
  const done = await label(them, classId);
  redraw();
  if (!done) return;
  const name = classId === null ? "no class" : classOf(classId)?.name;
  const now = goesOn && current && current !== them[0] ? `; now ${told(current)}` : "";
  say(done.kept ? "Nothing was changed." : `${them.length === 1 ? `Cell ${them[0].object}` : `${them.length} cells`}: ${name}${now}`);
}

async function markWrong() {
  const them = subjects();
  if (!them.length) return;
  const excluded = !them.every((one) => one.excluded);
  const done = await exclude(them, excluded);
  if (done) say(excluded ? "Wrong outline: left out of training and counts." : "The outline counts again.");
  redraw();
}

// Labels without a cell.

function showWaiting(one) {
  placing = one;
  const [x, y] = one.polygons[0]?.[0] ?? [field.width / 2, field.height / 2];
  viewer.show(x, y);
  say("Click the cell that this label belongs to, then press Place.");
  redraw();
}

async function place(one) {
  if (!current) {
    say("Choose the cell first: click it.");
    return;
  }
  const cell = { image: current.image, object: current.object, event: current.event };
  if (await write("/api/unplaced", { unplaced: one.id, place: true, cells: [cell] })) await update();
}

async function discard(one) {
  if (await write("/api/unplaced", { unplaced: one.id, place: false })) await update();
}

async function update() {
  const found = await read(`/api/fields/${number}/labels`);
  if (!found || !cells) return;
  cells.update(found.cells);
  field.waiting = found.waiting;
  placing = field.waiting.find((one) => one.id === placing?.id) ?? null;
  redraw();
}

// The mouse: a click chooses, a drag moves the picture, a drag with Shift or after "Box" draws a box.

const spot = (event) => ({ x: event.offsetX, y: event.offsetY });
let drag = null;

canvas.addEventListener("pointerdown", (event) => {
  if (event.button || !viewer) return;
  canvas.setPointerCapture(event.pointerId);
  canvas.focus({ preventScroll: true });
  drag = { at: spot(event), moved: false, box: event.shiftKey || boxButton.getAttribute("aria-pressed") === "true" };
});

canvas.addEventListener("pointermove", (event) => {
  if (!drag) return;
  const to = spot(event);
  if (!drag.moved && Math.hypot(to.x - drag.at.x, to.y - drag.at.y) < 4) return;
  if (drag.box) box = { from: drag.from ?? drag.at, to };
  else viewer.pan(drag.at.x - to.x, drag.at.y - to.y);
  drag = { ...drag, moved: true, from: drag.from ?? drag.at, at: drag.box ? drag.at : to };
  viewer.draw();
});

canvas.addEventListener("pointerup", (event) => {
  if (!drag) return;
  const { x, y } = viewer.toImage(spot(event).x, spot(event).y);
  if (drag.moved && drag.box) {
    const [a, b] = [viewer.toImage(box.from.x, box.from.y), { x, y }];
    choose(cells.inside(Math.min(a.x, b.x), Math.min(a.y, b.y), Math.max(a.x, b.x), Math.max(a.y, b.y)));
  } else if (!drag.moved && cells) {
    const hit = cells.at(viewer.context, x, y);
    if (hit && event.shiftKey) {
      if (!chosen.delete(hit)) chosen.add(hit);
      redraw();
    } else if (hit) {
      chosen.clear();
      go(hit, false);
    } else if (!placing) clear();
  }
  [drag, box] = [null, null];
  viewer.draw();
});

canvas.addEventListener("pointercancel", () => { [drag, box] = [null, null]; });
canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  viewer?.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0016)), spot(event));
}, { passive: false });

// Keys and buttons.

function toggleBox() {
  boxButton.setAttribute("aria-pressed", String(boxButton.getAttribute("aria-pressed") !== "true"));
}

function visit(other) {
  if (other !== null) location.assign(`/fields/${other}`);
}

const acts = {
  fit: () => viewer.fit(),
  in: () => viewer.zoom(1.5),
  out: () => viewer.zoom(1 / 1.5),
  box: toggleBox,
  before: () => visit(before),
  after: () => visit(after),
};
for (const [id, act] of Object.entries(acts)) document.getElementById(id).addEventListener("click", act);
document.getElementById("before").disabled = before === null;
document.getElementById("after").disabled = after === null;

const ready = (act) => () => { if (viewer && cells) act(); };
const labels = Object.fromEntries(Array.from("123456789", (key, i) =>
  [key, ["give the chosen cells the first to ninth class", ready(() => (classes()[i] ? give(classes()[i].id) : say(`There is no class ${key}.`)))]]));
keys({
  ArrowLeft: ["walk to the next cell that way", ready(() => walk(-1, 0))],
  ArrowRight: ["walk to the next cell that way", ready(() => walk(1, 0))],
  ArrowUp: ["walk to the next cell that way", ready(() => walk(0, -1))],
  ArrowDown: ["walk to the next cell that way", ready(() => walk(0, 1))],
  ...labels,
  0: ["remove labels", ready(() => give(null))],
  n: ["next cell without a label", ready(() => goFree(1))],
  p: ["cell before without a label", ready(() => goFree(-1))],
  x: ["wrong outline, or right again", ready(markWrong)],
  Space: ["choose or leave out, to label several at once", ready(mark)],
  a: ["choose all cells in sight", ready(chooseInView)],
  v: ["who voted on this cell", ready(() => { if (current?.said) showVotes(document.getElementById("votes"), current); })],
  b: ["drag boxes around cells; Shift and a drag does it once", toggleBox],
  Escape: ["choose nothing", ready(clear)],
  "+": ["larger", ready(acts.in)],
  "=": [null, ready(acts.in)],
  "-": ["smaller", ready(acts.out)],
  f: ["the whole field", ready(acts.fit)],
  "Shift+ArrowLeft": ["move the picture", ready(() => viewer.pan(-80, 0))],
  "Shift+ArrowRight": ["move the picture", ready(() => viewer.pan(80, 0))],
  "Shift+ArrowUp": ["move the picture", ready(() => viewer.pan(0, -80))],
  "Shift+ArrowDown": ["move the picture", ready(() => viewer.pan(0, 80))],
  o: ["outlines on or off", ready(() => document.querySelector("#outlines input").click())],
  PageUp: ["field before", acts.before],
  PageDown: ["next field", acts.after],
});

document.getElementById("add").addEventListener("submit", async (event) => {
  event.preventDefault();
  const input = event.target.elements.name;
  if (await write("/api/classes/add", { name: input.value })) {
    input.value = "";
    await refresh();
    canvas.focus();
  }
});

// How the project is shown: at once here, and kept for all of its fields.
let keeping = null;
let waitingDisplay = {};

function shown(changes) {
  for (const [role, one] of Object.entries(changes.channels ?? {})) {
    Object.assign(display.channels[role], one);
    waitingDisplay.channels = { ...waitingDisplay.channels, [role]: { ...waitingDisplay.channels?.[role], ...one } };
  }
  const { channels, ...others } = changes;
  Object.assign(display, others);
  Object.assign(waitingDisplay, others);
  viewer?.draw();
  clearTimeout(keeping);
  keeping = setTimeout(keep, 250);
}

async function keep() {
  const changes = waitingDisplay;
  waitingDisplay = {};
  if (Object.keys(changes).length) await send("/api/display", { display: changes });
}

whenLabelsChange(update);

async function start() {
  drawChannels(document.getElementById("channels"), display, shown);
  drawOutlines(document.getElementById("outlines"), display, shown);
  drawPanels();
  field = await read(`/api/fields/${number}`);
  if (!field) return;
  cells = new Cells(field.cells);
  const empty = document.getElementById("empty");
  empty.hidden = field.segmented && !field.missing.length;
  empty.textContent = field.missing.length ? `The image ${field.missing[0]} is gone; nearboost cells relink finds it again.`
    : "This field is not segmented yet: run nearboost cells segment.";
  viewer = new Viewer(canvas, field, { tile, address, display, over });
  const asked = Number(new URLSearchParams(location.search).get("unplaced"));
  const cell = Number(new URLSearchParams(location.search).get("cell"));
  drawPanels();
  if (asked) { const one = field.waiting.find((other) => other.id === asked); if (one) showWaiting(one); }
  if (cell && cells.byObject.has(cell)) {
    go(cells.byObject.get(cell), true);
    walking = false; // it was asked for, so that a label stays with it
  }
  canvas.focus({ preventScroll: true });
  document.body.dataset.ready = "true";
}

start();
