"""What a command writes and how it ends: events, one moving line, harmless text, exit codes.

It stands on the ground floor and imports nothing above it. Begin with `events`.
"""
