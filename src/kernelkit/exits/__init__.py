"""How a command ends: its exit code, a signal, a file that cannot be used.

    exit_codes      every command's own end: one message and a code
    signals         what is open is closed first
    unusable_files  what a system error means, and what to do

Begin with `exit_codes.exits_with_code`. May import only the ground floor.
"""
