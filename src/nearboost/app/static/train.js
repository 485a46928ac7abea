// The page of training: a model from the labels, and labels that it would not give.
import { classOf, classes, element, exclude, facts, keys, label, read, renew, say, swatch, whenLabelsChange } from "./app.js";
import { run, watch } from "./jobs.js";

const place = document.getElementById("job");
const suspects = document.getElementById("suspects");
let found = facts().suspects;
let current = 0;

async function train() {
  const button = document.getElementById("train");
  if (button.disabled) return say("Label cells of two classes first.");
  button.disabled = true;
  const ended = await run("train", place);
  button.disabled = false;
  if (ended && ended.state === "done") location.reload();
  return null;
}

async function use(name) {
  const ended = await run("activate", place, { name });
  if (ended && ended.state === "done") location.reload();
}

const percent = (share) => `${(100 * share).toFixed(0)}\u00a0%`;

function draw() {
  document.getElementById("lead").textContent = found.lead;
  document.getElementById("about").hidden = !found.cells.length;
  renew(suspects, ...found.cells.map((one, at) => {
    const known = classOf(one.now.class);
    const name = `cell ${one.object} of image ${one.image}: labelled ${known ? known.name : "nothing"}, votes say ${one.said}, wrong with ${percent(one.wrong)}`;
    return element("div", { role: "listitem", class: one.changed || one.now.excluded ? "crop done" : "crop" },
      element("button", { type: "button", class: "bare", "aria-label": name, "data-at": String(at), onfocus: () => { current = at; }, ondblclick: () => open(one), onclick: () => { current = at; } },
        element("img", { src: `/api/cells/${one.image}/${one.object}/crop`, alt: "" })),
      element("span", { class: "marks" }, known ? swatch(known) : null, one.now.excluded ? element("span", { class: "badge" }, "×") : null, element("span", { class: "said-class", title: one.said }, `→ ${one.said}`), element("span", { class: "chance" }, percent(one.other))),
      element("span", { class: "quiet small" }, `label wrong: ${percent(one.wrong)}`));
  }));
  document.body.dataset.ready = String(found.cells.length);
}

async function change(act) {
  const one = found.cells[current];
  if (!one) return;
  const cell = { image: one.image, object: one.object, event: one.now.event };
  if (!(await act(cell))) return;
  found = (await read("/api/suspects")) ?? found;
  draw();
  focus(Math.min(current + 1, found.cells.length - 1));
}

const give = (id) => change((cell) => label([cell], id));
const open = (one) => { if (one) location.href = `/fields/${one.image}?cell=${one.object}`; };

function focus(at) {
  current = Math.min(Math.max(at, 0), found.cells.length - 1);
  suspects.querySelector(`[data-at="${current}"]`)?.focus();
}

document.getElementById("train").addEventListener("click", train);
for (const button of document.querySelectorAll("button.use")) button.addEventListener("click", () => use(button.dataset.name));
whenLabelsChange(async () => {
  found = (await read("/api/suspects")) ?? found;
  draw();
});
keys({
  ...Object.fromEntries(Array.from({ length: 9 }, (_, at) => [String(at + 1), ["another label for the suspect with the focus", () => classes()[at] && give(classes()[at].id)]])),
  0: ["take its label off", () => give(null)],
  x: ["its outline is wrong", () => change((cell) => exclude([cell], true))],
  ArrowLeft: ["walk from suspect to suspect", () => focus(current - 1)],
  ArrowRight: ["walk from suspect to suspect", () => focus(current + 1)],
  f: ["open its field", () => open(found.cells[current])],
  t: ["train a model", train],
});
draw();
if (facts().job.state === "running") watch(place, facts().job).then((ended) => ended && ended.state === "done" && location.reload());
