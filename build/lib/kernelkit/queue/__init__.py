"""Pushes that wait for sessions and hours, and are made in order; begin with `work`.

`items` keeps them as files, frozen as they were queued; how far each has come is told by the
ledger of pushes alone. May import `push` and what is below it.
"""
