// What stands beside a field: the chosen cell, classes, channels, outlines, labels without a cell.
import { ago, classOf, classes, element, renew, swatch } from "./app.js";

const FLAGS = { Flag_Unstained: "no stain", Flag_NoNucleus: "no nucleus", Flag_Border: "at the border" };
const percent = (share) => `${Math.round(100 * share)} %`;

export function drawCell(place, them, current, { wrong, votes }) {
  if (!them.length) {
    renew(place, element("p", { class: "quiet" }, "Click a cell or press an arrow key; then 1 to 9 label it."));
    return;
  }
  const button = element("button", { type: "button", "aria-pressed": String(them.every((one) => one.excluded)), onclick: wrong, title: "X" }, "Wrong outline");
  if (them.length > 1 || !current) {
    renew(place, element("p", {}, `${them.length} cells are chosen.`), button);
    return;
  }
  const known = classOf(current.class);
  const lines = [
    ["Label", known ? [swatch(known), " ", element("bdi", {}, known.name), current.check ? " (check: placed by its middle only)" : ""] : ["none"]],
    ["Said by", current.who && (known || current.excluded) ? [`${current.who}, ${ago(current.at)}`] : null],
    ["Predicted", current.said ? [element("bdi", {}, current.said), ` ${percent(current.probability ?? 0)}`] : null],
    ["Flags", current.flags.length ? [current.flags.map((one) => FLAGS[one] ?? one).join(", ")] : null],
  ];
  renew(place,
    element("p", {}, element("strong", {}, `Cell ${current.object}`), current.excluded ? " is left out: wrong outline." : ""),
    element("dl", { class: "lines" }, ...lines.filter(([, told]) => told).map(([name, told]) => element("div", {}, element("dt", {}, name), element("dd", {}, ...told)))),
    element("p", { class: "row" }, button, current.said ? element("button", { type: "button", onclick: votes, title: "V" }, "Who voted") : null));
}

export function drawClasses(place, all, give) {
  const labelled = new Map();
  const predicted = new Map();
  for (const one of all) {
    if (one.excluded) continue; // counts leave it out
    if (one.class !== null) labelled.set(one.class, (labelled.get(one.class) ?? 0) + 1);
    else if (one.said) predicted.set(one.said, (predicted.get(one.said) ?? 0) + 1);
  }
  const rows = classes().map((one) => element("button", { type: "button", onclick: () => give(one.id) },
    swatch(one), element("bdi", { class: "name" }, one.name),
    element("span", { class: "quiet" }, `${labelled.get(one.id) ?? 0}${predicted.has(one.name) ? ` + ${predicted.get(one.name)}` : ""}`)));
  const none = element("button", { type: "button", onclick: () => give(null) }, element("span", { class: "swatch", "aria-hidden": "true" }, "0"), element("span", { class: "name" }, "no label"));
  const about = predicted.size ? [element("p", { class: "quiet small" }, "labelled + predicted in this field")] : [];
  renew(place, ...rows, ...(rows.length ? [none, ...about] : [element("p", { class: "quiet" }, "Add the classes that you want to tell apart.")]));
}

export function drawChannels(place, display, change) {
  place.replaceChildren(...Object.entries(display.channels).map(([role, channel]) => {
    const most = Math.max(2 * channel.high, channel.low + 1);
    const least = Math.min(0, channel.low);
    const fine = (most - least) / 500;
    const limit = (name, about) => {
      const slider = element("input", { type: "range", min: least, max: most, step: "any", value: channel[name], "aria-label": `${about} of ${role}` });
      const text = element("output", {}, round(channel[name]));
      slider.addEventListener("input", () => {
        const value = Number(slider.value);
        const kept = name === "low" ? Math.min(value, channel.high - fine) : Math.max(value, channel.low + fine);
        slider.value = kept;
        text.textContent = round(kept);
        change({ channels: { [role]: { [name]: kept } } });
      });
      return element("label", { class: "limit" }, element("span", {}, about), slider, text);
    };
    const shown = element("input", { type: "checkbox", checked: channel.shown, onchange: (event) => change({ channels: { [role]: { shown: event.target.checked } } }) });
    const colour = element("input", { type: "color", value: channel.colour, "aria-label": `Colour of ${role}`, onchange: (event) => change({ channels: { [role]: { colour: event.target.value } } }) });
    return element("div", { class: "channel" }, element("div", { class: "row" }, element("label", { class: "name" }, shown, " ", element("bdi", {}, role)), colour), limit("low", "black"), limit("high", "full"));
  }));
}

const round = (value) => (Math.abs(value) >= 100 ? Math.round(value).toLocaleString() : String(Number(value.toPrecision(3))));

export function drawOutlines(place, display, change) {
  const box = (name, about) => element("label", {}, element("input", { type: "checkbox", checked: display[name], onchange: (event) => change({ [name]: event.target.checked }) }), ` ${about}`);
  const width = element("input", { type: "range", min: 0.5, max: 6, step: 0.5, value: display.line_width, "aria-label": "Width of outlines" });
  const text = element("output", {}, display.line_width);
  width.addEventListener("input", () => {
    text.textContent = width.value;
    change({ line_width: Number(width.value) });
  });
  place.replaceChildren(element("div", { class: "stack" }, box("outlines", "shown (O)"), box("predictions", "in the colour of predicted classes"), element("label", { class: "limit" }, element("span", {}, "width"), width, text)));
}

export function drawWaiting(waiting, { placing, show, place, discard }) {
  document.getElementById("waiting-box").hidden = !waiting.length;
  renew(document.getElementById("waiting"), element("p", { class: "quiet" }, "The present outlines have no cell for these. Show one, click its cell, and place it."), ...waiting.map((one) => {
    const known = classOf(one.label.class);
    return element("div", { class: "row waiting" }, known ? swatch(known) : null, element("bdi", { class: "name" }, known ? known.name : "wrong outline"),
      element("button", { type: "button", "aria-pressed": String(one === placing), onclick: () => show(one) }, "Show"),
      element("button", { type: "button", disabled: one !== placing, onclick: () => place(one) }, "Place"),
      element("button", { type: "button", onclick: () => discard(one) }, "Discard"));
  }));
}
