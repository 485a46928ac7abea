// The cells of a field: where they are, which is at a place, which comes next, and how they are drawn.
import { classOf, classes, inkOn } from "./app.js";

export class Cells {
  constructor(given) {
    this.all = given.map(prepared);
    this.byObject = new Map(this.all.map((one) => [one.object, one]));
    this.inOrder = readingOrder(this.all);
  }

  // What was said by now, from the app.
  update(said) {
    for (const one of said) Object.assign(this.byObject.get(one.object) ?? {}, one);
  }

  at(context, x, y) {
    const near = this.all.filter(({ box }) => x >= box[0] - 2 && y >= box[1] - 2 && x <= box[2] + 2 && y <= box[3] + 2);
    context.save();
    context.setTransform(1, 0, 0, 1, 0, 0);
    const hit = near.find((one) => context.isPointInPath(one.path, x, y));
    context.restore();
    return hit ?? near.find((one) => Math.hypot(one.x - x, one.y - y) < 4) ?? null;
  }

  inside(left, top, right, bottom) {
    return this.all.filter((one) => one.x >= left && one.x <= right && one.y >= top && one.y <= bottom);
  }

  // The next cell that way: near, and rather straight ahead than aside.
  towards(from, right, down) {
    let [best, least] = [null, Infinity];
    for (const one of this.all) {
      const [dx, dy] = [one.x - from.x, one.y - from.y];
      const [ahead, aside] = [dx * right + dy * down, Math.abs(dx * down) + Math.abs(dy * right)];
      const cost = ahead + 2 * aside;
      if (ahead > 0 && aside <= 2 * ahead && cost < least) [best, least] = [one, cost];
    }
    return best;
  }

  // The next cell as one reads, perhaps of those without a label only.
  next(from, by, wanted = () => true) {
    const n = this.inOrder.length;
    const start = from ? this.inOrder.indexOf(from) : by > 0 ? -1 : n;
    for (let i = 1; i <= n; i += 1) {
      const one = this.inOrder[(((start + by * i) % n) + n) % n];
      if (wanted(one)) return one;
    }
    return null;
  }
}

export const isFree = (one) => one.class === null && !one.excluded;
export const classSaid = (one) => classes().find((known) => known.name === one.said) ?? null;

export function pathOf(polygons) {
  const path = new Path2D();
  for (const piece of polygons) {
    piece.forEach(([x, y], i) => (i ? path.lineTo(x, y) : path.moveTo(x, y)));
    path.closePath();
  }
  return path;
}

function prepared(one) {
  const points = one.polygons.flat();
  const [xs, ys] = [points.map(([x]) => x), points.map(([, y]) => y)];
  return { ...one, path: pathOf(one.polygons), box: [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)] };
}

// Row by row, where a row is as high as a typical cell.
function readingOrder(all) {
  const heights = all.map((one) => one.box[3] - one.box[1]).sort((a, b) => a - b);
  const high = Math.max(1, heights[heights.length >> 1] ?? 1);
  const row = (one) => Math.floor(one.y / high);
  return [...all].sort((a, b) => row(a) - row(b) || a.x - b.x);
}

// Outlines: of labelled cells thick, of predicted ones thin, with the key of the class inside where there is room.

export function paintCells(context, viewer, cells, { display, chosen, current }) {
  const { view, dots } = viewer;
  const { width, height } = viewer.size;
  const seen = [view.x - 1, view.y - 1, view.x + width / view.scale, view.y + height / view.scale];
  const shown = cells.all.filter(({ box }) => box[2] >= seen[0] && box[3] >= seen[1] && box[0] <= seen[2] && box[1] <= seen[3]);
  context.setTransform(dots * view.scale, 0, 0, dots * view.scale, dots * view.scale * (0.5 - view.x), dots * view.scale * (0.5 - view.y));
  const line = display.line_width / view.scale;
  if (display.outlines) for (const one of shown) paintOutline(context, one, line, display.predictions);
  for (const one of chosen) stroke(context, one.path, "#fff", 2.5 * line + 2 / view.scale, []);
  for (const one of chosen) stroke(context, one.path, "#000", line, [4 / view.scale, 4 / view.scale]);
  if (current) {
    stroke(context, current.path, "#000", line + 5 / view.scale, []);
    stroke(context, current.path, "#fff", line + 3 / view.scale, []);
    if (display.outlines) paintOutline(context, current, line, display.predictions);
  }
  context.setTransform(dots, 0, 0, dots, 0, 0);
  if (display.outlines) for (const one of shown) paintMark(context, viewer, one, display.predictions);
}

export function stroke(context, path, colour, width, dash) {
  Object.assign(context, { strokeStyle: colour, lineWidth: width, lineJoin: "round" });
  context.setLineDash(dash);
  context.stroke(path);
  context.setLineDash([]);
}

function paintOutline(context, one, line, predictions) {
  const known = classOf(one.class);
  const said = predictions ? classSaid(one) : null;
  if (one.excluded) stroke(context, one.path, "#ff6e5a", 1.5 * line, [3 * line, 3 * line]);
  else if (known) {
    stroke(context, one.path, "rgb(0 0 0 / .6)", 3.5 * line, []);
    stroke(context, one.path, known.colour, 2 * line, []);
  }
  else if (said) stroke(context, one.path, said.colour, line, []);
  else stroke(context, one.path, "#c8c8c8", line, []);
}

function paintMark(context, viewer, one, predictions) {
  const room = Math.min(one.box[2] - one.box[0], one.box[3] - one.box[1]) * viewer.view.scale;
  const known = classOf(one.class);
  const said = predictions && !known && !one.excluded ? classSaid(one) : null;
  const text = one.excluded ? "×" : known ? keyOf(known) + (one.check ? "?" : "") : said ? keyOf(said) : "";
  if (!text || room < 16) return;
  const { x, y } = viewer.toScreen(one.x, one.y);
  context.font = `600 ${room < 26 ? 10 : 12}px system-ui, sans-serif`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  if (known || one.excluded) {
    const half = context.measureText(text).width / 2 + 4;
    context.fillStyle = one.excluded ? "#ff6e5a" : known.colour;
    context.strokeStyle = "#000";
    context.lineWidth = 1;
    context.beginPath();
    context.roundRect(x - half, y - 8, 2 * half, 16, 4);
    context.fill();
    context.stroke();
    context.fillStyle = inkOn(one.excluded ? "#ff6e5a" : known.colour);
    context.fillText(text, x, y + 0.5);
  } else {
    Object.assign(context, { lineWidth: 3, strokeStyle: "rgb(0 0 0 / .7)", lineJoin: "round", fillStyle: said.colour });
    context.strokeText(text, x, y);
    context.fillText(text, x, y);
  }
  context.textBaseline = "alphabetic";
}

function keyOf(known) {
  const place = classes().findIndex((one) => one.id === known.id);
  return place < 9 ? String(place + 1) : [...known.name][0];
}
