"""HTML and Markdown pages: the report of a run, the page of many runs, and what they share.

Begin with `report`. May import `runs`, `notebook` and the ground floor.
"""
