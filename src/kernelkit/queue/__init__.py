"""A queue of pushes that wait for a free session or quota; begin with `work`.

`items` stores each push as a file, frozen when it was queued; its progress is recorded only in the
ledger of pushes. May import `pushes` and what is below it.
"""
