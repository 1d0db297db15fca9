"""What a command prints and how it ends: events, a live line, sanitised text, exit codes.

Begin with `events`. May import nothing of the kit.
"""
