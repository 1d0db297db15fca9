"""Every figure: of a run (`run`), of the data (`explore`), of several runs (`compare`).

`style` holds colours and axes. Imports `petals.comparison` and `petals.data` for what it draws.
"""
