// Work that takes a while: begun, watched and cancelled.
import { alarm, element, read, say, send } from "./app.js";

const NAMES = { describe: "Describing the cells", train: "Training", activate: "Changing the model", count: "Counting" };

// Shows a job in a place until it ends; resolves with how it ended.
export async function watch(place, state) {
  const bar = element("progress", { "aria-label": NAMES[state.kind] ?? state.kind });
  const line = element("span", { class: "quiet" });
  const cancel = element("button", { type: "button", onclick: () => send("/api/job/cancel", {}) }, "Cancel");
  place.replaceChildren(element("span", { class: "row job" }, element("strong", {}, NAMES[state.kind] ?? state.kind), bar, line, cancel));
  while (state && state.state === "running") {
    if (state.total > 0) {
      bar.max = state.total;
      bar.value = state.taken;
    }
    line.textContent = state.total > 0 ? `${state.step}, ${state.taken} of ${state.total}` : state.step;
    await new Promise((go) => { setTimeout(go, 150); });
    state = await read("/api/job");
  }
  place.replaceChildren();
  if (state && state.state === "failed") alarm(state.told);
  else if (state) say(state.told);
  return state;
}

// Begins a job and shows it; null where it could not begin.
export async function run(kind, place, body = {}) {
  const state = await send(`/api/job/${kind}`, body);
  return state ? watch(place, state) : null;
}
