"""What scripts say of a page that is open in a browser."""

# The least contrast of a text with its ground.
CONTRAST = """
() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const light = (colour) => {
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b] = Array.from(canvas.getImageData(0, 0, 1, 1).data).map((v) => {
      const s = v / 255;
      return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    const colour = getComputedStyle(element).backgroundColor;
    return colour === "rgba(0, 0, 0, 0)" ? ground(element.parentElement) : colour;
  };
  const shown = Array.from(document.querySelectorAll("main *, header *")).filter((e) =>
    Array.from(e.childNodes).some((n) => n.nodeType === 3 && n.data.trim()) && !e.closest("svg"));
  return Math.min(...shown.map((element) => {
    const a = light(getComputedStyle(element).color), b = light(ground(element));
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  }));
}
"""
