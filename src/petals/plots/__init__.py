"""Every figure: of training (`run`), of answers (`probabilities`), of data, of several runs.

`run` also holds colours and axes. Imports `petals.comparison` and `petals.data` for what it draws.
"""
