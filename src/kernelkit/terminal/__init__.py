"""What a command prints: events, a live line, sanitised text.

Begin with `events`; `live_line` has the line that it overwrites, and `notebook_output` shows on it
what a notebook prints. `safe_text` makes any text fit for a terminal. May import nothing of the
kit.
"""
