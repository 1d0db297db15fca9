"""How the session of a push ended, with proof or without.

    ended     the wait for the end, and what the end was
    live_log  the lines that a session prints meanwhile
    proof     what proves a log and a list of files to be this push's: its number

Begin with `ended.await_end`. May import `push.sending`, `push.known`, `push.planned`,
`session_records`, `runs`, `session`, `kaggle` and the ground floor.
"""
