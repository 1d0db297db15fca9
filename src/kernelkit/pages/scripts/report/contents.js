// The contents of a report, which show where in the page one is.

// Marks the part that is read, now and on every scroll; a link opens its part if that is folded.
export function followContents() {
  const links = [...document.querySelectorAll(".contents a")];
  const parts = links.map((link) => document.querySelector(link.getAttribute("href")));

  function mark() {
    const bottom = window.innerHeight + window.scrollY;
    const isAtEnd = bottom >= document.body.scrollHeight - 4;
    const isPassed = (part) => part.getBoundingClientRect().top < window.innerHeight / 3;
    const here = isAtEnd ? parts.length - 1 : Math.max(0, parts.findLastIndex(isPassed));
    links.forEach((link, n) => {
      if (n === here) link.setAttribute("aria-current", "location");
      else link.removeAttribute("aria-current");
    });
  }

  addEventListener("scroll", mark, { passive: true });
  addEventListener("resize", mark);
  links.forEach((link, n) => {
    link.addEventListener("click", () => {
      const folded = parts[n].querySelector(":scope > details");
      if (folded) folded.open = true;
    });
  });
  mark();
}
