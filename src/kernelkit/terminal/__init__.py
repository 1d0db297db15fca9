"""What a command prints and how it ends: events, a live line, sanitised text, exit codes.

Begin with `events`; `live_line` has the line that it overwrites, and `notebook_output` shows on it
what a notebook prints. May import nothing of the kit.
"""
