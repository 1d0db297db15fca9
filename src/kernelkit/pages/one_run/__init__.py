"""The report of one run.

Begin with `report_page`: `write_report` writes it, and `render` names what its template
`report.html.j2` shows, in the order of the page. One module each makes a part:

- the head: `origin` (where the run comes from, and the command that repeats it), `measures`
  (the cards, tables and submissions), and from the room `judged` the verdict;
- the parts: `charts` (learning curves, the machine), `left` (files and log), from the room
  `shown_first` the pictures and tables, from `judged` what changed since the last run, and from
  `shared` the `sections` that the run's files fill; the room `cells` makes the notebook's HTML.

`push_report` puts the notebook of a push together. Its script is `scripts/report/report.js`.

May import `runs`, `session_records`, `scores`, `notebook`, `shared`, `judged`, `shown_first`,
`cells` and the ground floor.
"""
