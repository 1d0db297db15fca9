"""HTML and Markdown pages: the report of a run, the page of many runs, and what they share.

Begin with `report`, which writes the pages that somebody asks for, then follow one of them:

- a run's report: `report_page.render` lays out what its template shows; one module each for the
  `verdict`, what changed `since_last`, the run's `origin`, the `sections` that its files fill, and
  the pictures and tables `shown_first`; the room `cells` makes the notebook's HTML. `push_report`
  puts the notebook of a push together.
- the page of many runs: `index_page` and the room `sweep` gather its runs; `many_runs` is the page,
  whose scripts are in `runs/`, from `data.js` to `page.js`. `live` writes it while runs go on.
- both: `naming` calls the runs, `ending` judges how they ended, `trail` has the links,
  `standalone` makes the file. `markdown` is the table of a CI job.

May import `scores`, `session_records`, `runs`, `notebook` and the ground floor.
"""
