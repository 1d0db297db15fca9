"""What goes wrong on purpose: when (`schedule`), and how it looks on the wire (`responses`).

May import `state` and `serving`.
"""
