"""What a command prints and how it ends: events, a live line, sanitised text, exit codes.

Imports only the ground floor. Begin with `events`.
"""
