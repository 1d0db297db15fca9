"""Figures, and what a report lays out itself.

`figures` has the look of all figures and saves them, and imports neither data nor scores; `photos`,
`run` and `twins` draw; `records` writes the files that a report shows in place of figures. Imports
`petals.data` and `petals.evaluation`.
"""
