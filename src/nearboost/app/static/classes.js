// The page of classes.
import { ask, element, facts, swatch, whenLabelsChange, write } from "./app.js";

const { present, deleted, colours } = facts();
const counted = (n) => `${n.toLocaleString()} ${n === 1 ? "label" : "labels"}`;

// The page is drawn anew after each change; the focus comes back to where it was.
const FOCUS = "focus-of-classes";
const nameOf = (one) => one.getAttribute("aria-label") ?? one.name;

async function change(path, body, focus = nameOf(document.activeElement)) {
  if (!(await write(`/api/classes/${path}`, body))) return;
  sessionStorage.setItem(FOCUS, focus);
  location.reload();
}

document.getElementById("add").addEventListener("submit", (event) => {
  event.preventDefault();
  change("add", { name: event.target.elements.name.value }, "name");
});

function move(place, by) {
  const order = present.map((one) => one.id);
  [order[place], order[place + by]] = [order[place + by], order[place]];
  change("order", { classes: order });
}

async function rename(one) {
  const field = element("input", { name: "name", maxlength: 100, value: one.name, required: true });
  const body = [element("label", {}, "Name ", field)];
  if ((await ask(`Rename ${one.name}`, body, [["ok", "Rename"], ["", "Cancel"]])) === "ok") {
    change("change", { class: one.id, name: field.value });
  }
}

async function merge(one) {
  const others = present.filter((other) => other.id !== one.id);
  const field = element("select", {}, ...others.map((other) => element("option", { value: other.id }, other.name)));
  const body = [
    element("p", {}, `All ${counted(one.labels)} of ${one.name} get another class, and ${one.name} is deleted. Undo takes it back.`),
    element("label", {}, "Into ", field),
  ];
  if ((await ask(`Merge ${one.name}`, body, [["ok", "Merge"], ["", "Cancel"]])) === "ok") {
    change("merge", { class: one.id, into: Number(field.value) });
  }
}

function colourOf(one) {
  const field = element("select", { "aria-label": `Colour of ${one.name}`, onchange: () => change("change", { class: one.id, colour: field.value }) },
    ...[...new Set([...colours, one.colour])].map((colour) => element("option", { value: colour, selected: colour === one.colour }, NAMES[colour] ?? colour)));
  return field;
}

const NAMES = {
  "#e69f00": "orange", "#56b4e9": "sky blue", "#009e73": "green", "#f0e442": "yellow", "#0072b2": "blue", "#d55e00": "vermilion",
  "#cc79a7": "pink", "#999999": "grey",
};

document.getElementById("present").append(...present.map((one, place) => element("li", {},
  swatch(one),
  element("bdi", { class: "name" }, one.name),
  element("span", { class: "quiet" }, counted(one.labels)),
  colourOf(one),
  element("button", { type: "button", disabled: place === 0, "aria-label": `Move ${one.name} up`, onclick: () => move(place, -1) }, "↑"),
  element("button", { type: "button", disabled: place === present.length - 1, "aria-label": `Move ${one.name} down`, onclick: () => move(place, 1) }, "↓"),
  element("button", { type: "button", "aria-label": `Rename ${one.name}`, onclick: () => rename(one) }, "Rename"),
  element("button", { type: "button", "aria-label": `Merge ${one.name}`, disabled: present.length < 2, onclick: () => merge(one) }, "Merge"),
  element("button", { type: "button", "aria-label": `Delete ${one.name}`, onclick: () => change("delete", { class: one.id }) }, "Delete"))));

document.getElementById("gone").hidden = !deleted.length;
document.getElementById("deleted").append(...deleted.map((one) => element("li", {},
  swatch(one), element("bdi", { class: "name" }, one.name), element("span", { class: "quiet" }, counted(one.labels)),
  element("button", { type: "button", "aria-label": `Restore ${one.name}`, onclick: () => change("restore", { class: one.id }) }, "Restore"))));

const before = sessionStorage.getItem(FOCUS) ?? (present.length ? "" : "name");
sessionStorage.removeItem(FOCUS);
Array.from(document.querySelectorAll("main :is(button, input, select)")).find((one) => before && nameOf(one) === before)?.focus();

whenLabelsChange(() => location.reload());
