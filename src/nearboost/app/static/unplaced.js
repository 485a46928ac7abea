// The list of labels without a cell.
import { ago, classOf, element, facts, swatch, whenLabelsChange, write } from "./app.js";

async function discard(one) {
  if (await write("/api/unplaced", { unplaced: one.id, place: false })) location.reload();
}

document.getElementById("list")?.append(...facts().map((one) => {
  const known = classOf(one.class);
  return element("li", {},
    known ? swatch(known) : null,
    element("bdi", { class: "name" }, known ? known.name : one.excluded ? "wrong outline" : "no class"),
    element("span", { class: "quiet" }, `${one.who}, ${ago(one.at)}`),
    one.field === null ? element("span", {}, `image ${one.image} is not in the project`)
      : element("a", { class: "button", href: `/fields/${one.image}?unplaced=${one.id}` }, `Show in ${one.field}`),
    element("button", { type: "button", onclick: () => discard(one) }, "Discard"));
}));

whenLabelsChange(() => location.reload());
