"""HTML and Markdown pages of runs.

Begin with `report`, which writes the pages that somebody asks for; `live` writes them while runs go
on, and `markdown` is the table of a CI job. The pages are made in five rooms:

- `one_run` is the report of a run, `judged` what it says of the run beside others, and `cells` the
  HTML of its notebook;
- `many_runs` is the page of a sweep or of a folder of runs;
- `shared` is what both need: the file that a page is, names, links, how a run ended.

Beside them are the templates, the style sheet, and the `scripts`, modules of JavaScript of which
each begins with what it imports: those in the folder itself draw for every page, `scripts/report`
for a report. Of `scripts/runs`, `page.js` says which part of the page of many runs follows what;
`known` is what it knows of its runs, without an element; `table`, `compared`, `curves` and `charts`
are its parts.

May import `runs`, `session_records`, `scores`, `notebook` and the ground floor.
"""
