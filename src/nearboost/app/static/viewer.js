// A picture in tiles that can be moved and enlarged. It knows channels, not cells: what lies on top is drawn by others.

const MOST_TILES = 160; // kept in memory
const LARGEST = 32; // pixels of the screen for one of the image

export class Viewer {
  constructor(canvas, field, { tile, address, display, over }) {
    Object.assign(this, { canvas, field, tile, address, display, over });
    this.context = canvas.getContext("2d");
    this.tiles = new Map();
    this.view = { x: 0, y: 0, scale: 1 };
    new ResizeObserver(() => this.resize()).observe(canvas.parentElement);
    this.resize();
    this.fit();
  }

  get size() {
    return { width: this.canvas.clientWidth, height: this.canvas.clientHeight };
  }

  resize() {
    const dots = window.devicePixelRatio || 1;
    const { width, height } = this.size;
    const before = this.known ?? { width, height };
    this.canvas.width = Math.round(width * dots);
    this.canvas.height = Math.round(height * dots);
    this.dots = dots;
    this.view.x += (before.width - width) / 2 / this.view.scale;
    this.view.y += (before.height - height) / 2 / this.view.scale;
    this.known = { width, height };
    this.draw();
  }

  // The scale at which the whole field is seen.
  get whole() {
    const { width, height } = this.size;
    return Math.min(width / this.field.width, height / this.field.height) || 1;
  }

  fit() {
    const { width, height } = this.size;
    const scale = this.whole;
    this.view = { scale, x: (this.field.width - width / scale) / 2, y: (this.field.height - height / scale) / 2 };
    this.draw();
  }

  zoom(factor, at = null) {
    const { width, height } = this.size;
    const { x, y } = at ?? { x: width / 2, y: height / 2 };
    const scale = Math.min(LARGEST, Math.max(this.whole / 2, this.view.scale * factor));
    this.view.x += x / this.view.scale - x / scale;
    this.view.y += y / this.view.scale - y / scale;
    this.view.scale = scale;
    this.keepInside();
    this.draw();
  }

  pan(right, down) {
    this.view.x += right / this.view.scale;
    this.view.y += down / this.view.scale;
    this.keepInside();
    this.draw();
  }

  // Some of the field always stays in sight.
  keepInside() {
    const { width, height } = this.size;
    const { scale } = this.view;
    this.view.x = Math.min(this.field.width - 40 / scale, Math.max(40 / scale - width / scale, this.view.x));
    this.view.y = Math.min(this.field.height - 40 / scale, Math.max(40 / scale - height / scale, this.view.y));
  }

  // Bring a place into sight, if it is not well inside already.
  show(x, y) {
    const { width, height } = this.size;
    const at = this.toScreen(x, y);
    const edge = Math.min(60, width / 6, height / 6);
    if (at.x > edge && at.y > edge && at.x < width - edge && at.y < height - edge) return;
    this.view.x = inside(x - width / 2 / this.view.scale, width / this.view.scale, this.field.width);
    this.view.y = inside(y - height / 2 / this.view.scale, height / this.view.scale, this.field.height);
    this.draw();
  }

  toImage(x, y) {
    return { x: this.view.x + x / this.view.scale - 0.5, y: this.view.y + y / this.view.scale - 0.5 };
  }

  toScreen(x, y) {
    return { x: (x + 0.5 - this.view.x) * this.view.scale, y: (y + 0.5 - this.view.y) * this.view.scale };
  }

  draw() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = null;
      this.paint();
    });
  }

  paint() {
    const { context, dots, view } = this;
    const { width, height } = this.size;
    context.setTransform(dots, 0, 0, dots, 0, 0);
    context.globalCompositeOperation = "source-over";
    context.fillStyle = "#000";
    context.fillRect(0, 0, width, height);
    context.imageSmoothingEnabled = view.scale < 3;
    context.globalCompositeOperation = "lighter";
    if (!this.field.missing.length) {
      for (const [role, channel] of Object.entries(this.display.channels)) {
        if (channel.shown) this.paintChannel(role, channel);
      }
    }
    context.globalCompositeOperation = "source-over";
    this.over(context, this);
    this.paintBar();
  }

  paintChannel(role, channel) {
    const { view, field, tile } = this;
    const { width, height } = this.size;
    const level = Math.min(field.levels - 1, Math.max(0, Math.floor(Math.log2(1 / view.scale / (this.dots > 1 ? 2 : 1)) + 0.01)));
    const side = tile * 2 ** level;
    const across = [Math.max(0, Math.floor(view.x / side)), Math.min(Math.ceil(field.width / side), Math.ceil((view.x + width / view.scale) / side))];
    const down = [Math.max(0, Math.floor(view.y / side)), Math.min(Math.ceil(field.height / side), Math.ceil((view.y + height / view.scale) / side))];
    for (let row = down[0]; row < down[1]; row += 1) {
      for (let column = across[0]; column < across[1]; column += 1) this.paintTile(role, channel, level, row, column);
    }
  }

  // A tile, or while it is on its way the part of a coarser one.
  paintTile(role, channel, level, row, column) {
    const { tile, field, view } = this;
    const wanted = this.get(role, channel, level, row, column);
    const side = tile * 2 ** level;
    const [left, top] = [column * side, row * side];
    const [wide, high] = [Math.min(side, field.width - left), Math.min(side, field.height - top)];
    let found = wanted;
    let [coarse, fromRow, fromColumn] = [level, row, column];
    while (!found?.picture && coarse + 1 < field.levels) {
      [coarse, fromRow, fromColumn] = [coarse + 1, fromRow >> 1, fromColumn >> 1];
      found = this.tiles.get(this.key(role, channel, coarse, fromRow, fromColumn));
    }
    if (!found?.picture) return;
    const step = 2 ** coarse;
    this.context.drawImage(found.picture, left / step - fromColumn * tile, top / step - fromRow * tile, wide / step, high / step,
      (left - view.x) * view.scale, (top - view.y) * view.scale, wide * view.scale, high * view.scale);
  }

  key(role, { colour, low, high }, level, row, column) {
    return `${role} ${colour} ${low} ${high} ${level} ${row} ${column}`;
  }

  get(role, channel, level, row, column) {
    const key = this.key(role, channel, level, row, column);
    let known = this.tiles.get(key);
    if (known) this.tiles.delete(key); // the last one used stands at the end
    else known = this.load(role, channel, level, row, column);
    this.tiles.set(key, known);
    if (this.tiles.size > MOST_TILES) this.tiles.delete(this.tiles.keys().next().value);
    return known;
  }

  load(role, channel, level, row, column) {
    const made = { picture: null };
    const image = new Image();
    image.onload = () => {
      made.picture = coloured(image, channel.colour);
      this.draw();
    };
    image.src = this.address(role, channel, level, row, column);
    return made;
  }

  // A bar of a round length in micrometres.
  paintBar() {
    const size = this.field.pixel_size;
    if (!size) return;
    const { context, view } = this;
    const { height } = this.size;
    const most = (140 / view.scale) * size;
    const power = 10 ** Math.floor(Math.log10(most));
    const length = [5, 2, 1].map((step) => step * power).find((one) => one <= most);
    const wide = (length / size) * view.scale;
    const text = length >= 1000 ? `${length / 1000} mm` : `${Number(length.toPrecision(1))} µm`;
    context.font = "600 13px system-ui, sans-serif";
    context.textAlign = "center";
    context.lineJoin = "round";
    for (const [colour, line] of [["#000", 5], ["#fff", 2]]) {
      Object.assign(context, { strokeStyle: colour, lineWidth: line });
      context.beginPath();
      context.moveTo(16, height - 18);
      context.lineTo(16 + wide, height - 18);
      context.stroke();
      Object.assign(context, { lineWidth: 3, fillStyle: "#fff" });
      if (colour === "#000") context.strokeText(text, 16 + wide / 2, height - 26);
      else context.fillText(text, 16 + wide / 2, height - 26);
    }
    this.bar = { length, wide };
  }
}

// Where a window begins so that it shows nothing beside the field; where the field is smaller, in its middle.
function inside(begin, window, field) {
  return window >= field ? (field - window) / 2 : Math.min(field - window, Math.max(0, begin));
}

// A grey picture in a colour.
function coloured(image, colour) {
  const made = document.createElement("canvas");
  [made.width, made.height] = [image.naturalWidth, image.naturalHeight];
  const context = made.getContext("2d");
  context.drawImage(image, 0, 0);
  context.globalCompositeOperation = "multiply";
  context.fillStyle = colour;
  context.fillRect(0, 0, made.width, made.height);
  return made;
}
