// What the theme leaves out for screen readers and the keyboard. It calls this for every page.
document$.subscribe(() => {
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
  // The theme wraps wide tables, which then scroll sideways, after this call.
  requestAnimationFrame(() => {
    for (const table of document.querySelectorAll(".md-typeset__scrollwrap")) table.tabIndex = 0;
  });
});
