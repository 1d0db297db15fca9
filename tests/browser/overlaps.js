// Pairs of texts that are seen and lie over one another, and texts of charts that are too small.
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
  return { found, small, sideways: document.documentElement.scrollWidth - innerWidth };
}
