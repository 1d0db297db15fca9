"""Every figure: of training (`run`), predictions (`probabilities`), data and several runs.

Begin with `run`, which also has the colours and axes. Imports `petals.comparison` and
`petals.data`.
"""
