// Pairs of texts that are seen and lie over one another, texts of charts that a line or a mark
// crosses, and texts of charts that are too small.
() => {
  const boxes = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const clipped = (box, element) => {
    let [left, top, right, bottom] = [box.left, box.top, box.right, box.bottom];
    for (let up = element; up && up !== document.body; up = up.parentElement) {
      const style = getComputedStyle(up);
      if (style.overflow === "visible" || up instanceof SVGElement) continue;
      const own = up.getBoundingClientRect();
      [left, top, right, bottom] = [Math.max(left, own.left), Math.max(top, own.top), Math.min(right, own.right), Math.min(bottom, own.bottom)];
    }
    return { left, top, right, bottom };
  };
  const small = [];
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const element = node.parentElement;
    if (!node.textContent.trim() || ["SCRIPT", "STYLE", "TITLE", "title", "OPTION"].includes(element.tagName)) continue;
    if (!element.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true })) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const rect of range.getClientRects()) {
      const box = clipped(rect, element);
      if (box.right - box.left < 2 || box.bottom - box.top < 2) continue;
      // Lines of text have some room above and below their letters.
      const room = 0.2 * rect.height;
      boxes.push({ ...box, top: Math.max(box.top, rect.top + room), bottom: Math.min(box.bottom, rect.bottom - room), text: node.textContent.trim().slice(0, 40), node });
    }
    const picture = element.closest("svg[viewBox]");
    if (picture) {
      const scale = picture.getBoundingClientRect().width / picture.viewBox.baseVal.width;
      const size = scale * parseFloat(getComputedStyle(element).fontSize);
      if (size < 10.99) small.push([element.textContent, size]);
    }
  }
  boxes.sort((a, b) => a.top - b.top);
  const found = [];
  boxes.forEach((a, i) => {
    for (let k = i + 1; k < boxes.length && boxes[k].top < a.bottom; k++) {
      const b = boxes[k];
      const [wide, high] = [Math.min(a.right, b.right) - Math.max(a.left, b.left), Math.min(a.bottom, b.bottom) - b.top];
      if (a.node !== b.node && wide > 1.5 && high > 1.5) found.push([a.text, b.text, Math.round(wide), Math.round(high)]);
    }
  });

  // What a chart draws, in pixels of the page: segments of lines, boxes of marks.
  const crossed = [];
  const drawn = (picture) => [...picture.querySelectorAll("line, polyline, circle, path, rect")].flatMap((shape) => {
    if (getComputedStyle(shape).visibility === "hidden" || shape.closest(".matrix")) return [];
    const named = shape.getAttribute("class") || shape.tagName;
    if (["circle", "path", "rect"].includes(shape.tagName)) {
      const { left, right, top, bottom } = shape.getBoundingClientRect();
      return [{ named, left, right, top, bottom }];
    }
    const at = (x, y) => new DOMPoint(x, y).matrixTransform(shape.getScreenCTM());
    const points = shape.tagName === "line" ? [at(shape.x1.baseVal.value, shape.y1.baseVal.value), at(shape.x2.baseVal.value, shape.y2.baseVal.value)] : [...shape.points].map((p) => at(p.x, p.y));
    return points.slice(1).map((end, n) => ({ named, from: points[n], to: end }));
  });
  // Whether a segment comes into a box: the part of it that lies within each pair of sides.
  const enters = ({ from, to }, box) => {
    let [begin, end] = [0, 1];
    for (const [a, d, least, most] of [[from.x, to.x - from.x, box.left, box.right], [from.y, to.y - from.y, box.top, box.bottom]]) {
      if (Math.abs(d) < 1e-9) { if (a < least || a > most) return false; continue; }
      const [one, other] = [(least - a) / d, (most - a) / d];
      [begin, end] = [Math.max(begin, Math.min(one, other)), Math.min(end, Math.max(one, other))];
    }
    return begin < end;
  };
  const over = (shape, box) => (shape.from ? enters(shape, box) : Math.min(shape.right, box.right) - Math.max(shape.left, box.left) > 0 && Math.min(shape.bottom, box.bottom) - Math.max(shape.top, box.top) > 0);
  for (const picture of document.querySelectorAll("svg[role=img]")) {
    const texts = boxes.filter(({ node }) => picture.contains(node));
    for (const shape of drawn(picture)) {
      for (const box of texts) if (over(shape, box)) crossed.push([box.text, shape.named]);
    }
  }
  return { found, crossed, small, sideways: document.documentElement.scrollWidth - innerWidth };
}
