// What all pages of the app share: talking to the app, classes, dialogs, keys, undo and redo.

const common = JSON.parse(document.getElementById("common").textContent);
const given = JSON.parse(document.getElementById("facts").textContent);
const typing = (target) => target.matches("input:not([type=checkbox],[type=radio],[type=range]), textarea, select");

export const facts = () => given;
export const classes = () => common.classes;
export const classOf = (id) => common.classes.find((one) => one.id === id) ?? null;

// Elements: texts are texts, whatever is in them.

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "colour") made.style.setProperty("--colour", value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

// What a place shows anew: the focus stays where it was, as far as one can tell.
export function renew(place, ...children) {
  const reached = () => [...place.querySelectorAll("button, a, input, [tabindex='0']")];
  const at = reached().indexOf(document.activeElement);
  place.replaceChildren(...children);
  if (at >= 0) (reached()[at] ?? place.closest("[tabindex]"))?.focus();
}

// A class has a colour and, for those who see colours differently, its number on the keyboard or its first letter.
export function swatch(one) {
  const place = common.classes.findIndex((other) => other.id === one.id);
  const mark = place >= 0 && place < 9 ? String(place + 1) : [...one.name][0];
  const made = element("span", { class: "swatch", colour: one.colour, "aria-hidden": "true" }, mark);
  made.style.color = inkOn(one.colour);
  return made;
}

// Black or white, whichever is read more easily on a colour.
export function inkOn(colour) {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? "#000" : "#fff";
}

export function say(text) {
  const line = document.getElementById("said");
  line.textContent = "";
  requestAnimationFrame(() => { line.textContent = text; });
}

export function alarm(text) {
  const banner = document.getElementById("alarm");
  banner.textContent = text;
  banner.hidden = !text;
}

// Dialogs, which keep the focus inside and end with Escape. Where there is nothing to decide, one begins at its top.

export function ask(title, body, choices) {
  return new Promise((resolve) => {
    const buttons = choices.map(([value, name], place) =>
      element("button", { value, type: "submit", class: place === 0 ? "main" : null, formnovalidate: place > 0 }, name));
    const form = element("form", { method: "dialog" }, element("h2", choices.length === 1 ? { tabindex: -1, autofocus: true } : {}, title), ...body, element("p", { class: "choices" }, ...buttons));
    const dialog = element("dialog", { "aria-label": title }, form);
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue || null);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

async function askWho() {
  const field = element("input", { name: "who", maxlength: 100, autocomplete: "name", value: common.who, required: true });
  const body = [
    element("p", {}, "Labels are kept with the name of who gave them, so that they can be told apart and taken back."),
    element("label", {}, "Your name ", field),
  ];
  const chosen = await ask("Who are you?", body, [["ok", "Go on"], ["", "Not now"]]);
  if (chosen !== "ok" || !field.value.trim()) return false;
  const answer = await send("/api/who", { name: field.value });
  if (!answer) return false;
  common.who = answer.who;
  document.querySelector("#who bdi").textContent = answer.who;
  return true;
}

// Talking to the app.

export async function read(path) {
  return talk(path, {});
}

export async function send(path, body) {
  return talk(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
}

async function talk(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    alarm("The app does not answer, and nothing was changed. Start it again and open the address that it prints.");
    return null;
  }
  if (response.status === 401) {
    alarm("The app was started anew, and nothing was changed. Open the address that it printed.");
    return null;
  }
  const answer = await response.json().catch(() => ({ error: "The app failed; what it printed says why." }));
  if (response.ok) {
    alarm("");
    return answer;
  }
  if (response.status === 409) return { conflict: answer };
  alarm(answer.error);
  return null;
}

// One write after the other, in the order of the keys that were pressed.
let queue = Promise.resolve();

function inTurn(act) {
  const mine = queue.then(act);
  queue = mine.catch(() => null);
  return mine;
}

export const write = (path, body) => inTurn(() => writeNow(path, body));

async function writeNow(path, body) {
  if (!common.who && !(await askWho())) {
    say("Nothing was changed.");
    return null;
  }
  const made = typeof body === "function" ? body() : body;
  const answer = await send(path, made);
  return answer && answer.conflict ? settle(path, made, answer.conflict) : answer;
}

async function settle(path, body, conflict) {
  const saysNow = conflict.present.slice(0, 8).map((one) => element("li", {},
    element("span", {}, `Cell ${one.object} of image ${one.image}: `), named(one), ` says ${one.who}, ${ago(one.at)}`));
  const more = conflict.present.length > 8 ? [element("p", {}, `and ${conflict.present.length - 8} more`)] : [];
  const wanted = "class" in body ? named(body) : body.excluded ? "wrong outline" : "right outline";
  const kept = [element("p", {}, "Somebody labelled this in the meantime:"), element("ul", {}, ...saysNow), ...more,
    element("p", {}, "You say: ", wanted)];
  const chosen = await ask("Two opinions", kept, [["theirs", "Keep theirs"], ["mine", "Take mine"]]);
  if (chosen === "mine") {
    const now = new Map(conflict.present.map((one) => [`${one.image} ${one.object}`, one.event]));
    const cells = body.cells.map((one) => ({ ...one, event: now.get(`${one.image} ${one.object}`) ?? one.event }));
    const answer = await send(path, { ...body, cells });
    return answer && answer.conflict ? settle(path, { ...body, cells }, answer.conflict) : answer;
  }
  return { labels: conflict.present, kept: true };
}

function named(one) {
  const known = classOf(one.class);
  const words = [one.excluded ? "wrong outline" : null, known ? known.name : one.class ? "a class that is gone" : null];
  return element("strong", {}, words.filter(Boolean).join(", ") || "no class");
}

export function ago(at) {
  const seconds = (Date.now() - Date.parse(at)) / 1000;
  if (seconds < 90) return "just now";
  if (seconds < 5400) return `${Math.round(seconds / 60)} minutes ago`;
  return new Date(at).toLocaleString();
}

// Labels: each write names the event that was last seen of a cell. A cell's event is looked up when its turn comes,
// so that two quick keys on one cell follow on one another.

const cellsOf = (cells) => cells.map(({ image, object, event }) => ({ image, object, event: event ?? 0 }));

export async function label(cells, classId) {
  return told(cells, await write("/api/label", () => ({ cells: cellsOf(cells), class: classId })));
}

export async function exclude(cells, excluded) {
  return told(cells, await write("/api/exclude", () => ({ cells: cellsOf(cells), excluded })));
}

function told(cells, answer) {
  if (!answer) return null;
  const now = new Map(answer.labels.map((one) => [`${one.image} ${one.object}`, one]));
  for (const cell of cells) Object.assign(cell, now.get(`${cell.image} ${cell.object}`));
  return answer;
}

// Keys.

const known = new Map();

export function keys(more) {
  for (const [key, [about, act]] of Object.entries(more)) known.set(key, { about, act });
}

function nameOf(event) {
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const shift = event.shiftKey && (key.length > 1 || /[a-z]/.test(key));
  return `${event.ctrlKey || event.metaKey ? "Ctrl+" : ""}${shift ? "Shift+" : ""}${key === " " ? "Space" : key}`;
}

// Keys that the element with the focus has a use for itself.
function takes(target, name) {
  if (target.matches("input[type=range]")) return /^Arrow|^Page/.test(name);
  return Boolean(target.closest("button, a, summary, input")) && ["Enter", "Space"].includes(name);
}

document.addEventListener("keydown", (event) => {
  if (event.altKey || typing(event.target) || document.querySelector("dialog[open]")) return;
  const key = known.get(nameOf(event));
  if (!key || takes(event.target, nameOf(event))) return;
  event.preventDefault();
  key.act(event);
});

function help() {
  const rows = Array.from(known, ([key, { about }]) => [key, about]).filter(([, about]) => about);
  const grouped = new Map();
  for (const [key, about] of rows) grouped.set(about, [...(grouped.get(about) ?? []), key]);
  const written = (key) => key.replace("Arrow", "").replace(/(^|\+)([a-z])$/, (letter) => letter.toUpperCase());
  const list = element("dl", { class: "keys" }, ...Array.from(grouped, ([about, all]) =>
    element("div", {}, element("dt", {}, ...all.flatMap((key) => [element("kbd", {}, written(key)), " "])), element("dd", {}, about))));
  return ask("Keys", [list], [["", "Close"]]);
}

// Undo and redo, also after the page was loaded anew.

function step(path, verb) {
  return inTurn(async () => {
    const answer = await writeNow(path, {});
    if (!answer) return;
    say(answer.done ? `${verb}: ${answer.done}` : `There is nothing to ${path.slice(5)}.`);
    if (answer.done) await refresh(); // before the next write, which names the events that are then seen
  });
}

const readers = [];

// What a page does to show labels anew.
export function whenLabelsChange(act) {
  readers.push(act);
}

export async function refresh() {
  const answer = await read("/api/classes");
  if (!answer) return;
  common.classes = answer.classes;
  common.who = answer.who;
  await Promise.all(readers.map((act) => act()));
}

const undo = () => step("/api/undo", "Undone");
const redo = () => step("/api/redo", "Done again");

document.getElementById("undo").addEventListener("click", undo);
document.getElementById("redo").addEventListener("click", redo);
document.getElementById("who").addEventListener("click", askWho);
document.getElementById("help").addEventListener("click", help);
document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
keys({
  "?": ["this list", help],
  "Ctrl+z": ["undo", undo],
  "Ctrl+y": ["redo", redo],
  "Ctrl+Shift+z": ["redo", redo],
});
