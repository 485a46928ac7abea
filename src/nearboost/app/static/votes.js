// The training cells that voted on a cell, and how much.
import { element, read } from "./app.js";

export async function showVotes(place, cell) {
  const vote = await read(`/api/cells/${cell.image}/${cell.object}/votes`);
  if (!vote) return;
  const most = Math.max(...vote.voters.map((one) => Math.abs(one.vote)), 1e-12);
  const rows = vote.voters.map((one) => {
    const meter = element("span", { class: one.vote > 0 ? "vote for" : "vote" });
    meter.style.setProperty("--share", `${(100 * Math.abs(one.vote)) / most}%`);
    return element("li", {},
      element("img", { src: `/api/trained-on/${one.row}`, alt: "", width: 44, height: 44 }),
      element("span", {}, element("strong", {}, one.label), element("br"), element("span", { class: "quiet" }, one.name)),
      element("span", { class: "number" }, `${one.vote > 0 ? "+" : "−"}${Math.abs(one.vote).toPrecision(2)}`), meter);
  });
  const sure = vote.probability === null ? "" : ` (${(100 * vote.probability).toFixed(0)} %)`;
  place.hidden = false;
  place.replaceChildren(
    element("h2", {}, `Who voted on cell ${cell.object} of image ${cell.image}`),
    element("p", {}, "The model says ", element("strong", {}, vote.said), sure, vote.note ? `; the cell is ${vote.note}` : "", "."),
    element("ol", { class: "voters" }, ...rows),
    element("p", { class: "quiet" }, `The ${vote.voters.length} strongest of ${vote.n_voters} voters. ${vote.meaning}`));
}
