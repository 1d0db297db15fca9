"""The cells of an executed notebook as HTML: code folded away, and nothing in it that runs.

Begin with `notebook_html.body`: it shortens outputs and chooses their forms, `exporter` is
nbconvert's HTML without what it would load, and every markup passes `safe_html.clean`. May import
`notebook` and the ground floor; knows no runs.
"""
