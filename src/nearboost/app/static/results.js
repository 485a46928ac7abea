// The page of results: count again, and say when what is shown does not hold any more.
import { facts, keys, read, whenLabelsChange } from "./app.js";
import { run, watch } from "./jobs.js";

const [button, place, stale] = ["count", "job", "stale"].map((id) => document.getElementById(id));

async function count() {
  if (!button || button.disabled) return;
  button.disabled = true;
  const ended = await run("count", place);
  button.disabled = false;
  if (ended && ended.state === "done") location.reload();
}

button?.addEventListener("click", count);
whenLabelsChange(async () => {
  const answer = await read("/api/results/stale");
  if (!answer) return;
  stale.textContent = answer.stale.join(" ");
  stale.hidden = !answer.stale.length;
});
keys({ c: ["count the cells", count] });
if (facts().job.state === "running") watch(place, facts().job).then((ended) => ended && ended.state === "done" && location.reload());
document.body.dataset.ready = "true";
