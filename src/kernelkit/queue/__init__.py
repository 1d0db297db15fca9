"""Pushes that wait, in order, for a free session or quota; begin with `work`.

`items` stores each as a file, frozen as it was queued; only the ledger of pushes records its
progress. May import `pushes` and what is below it.
"""
