"""How the session of a push ended, with proof or without.

    ended     the wait for the end, and what the end was
    live_log  the lines that a session prints meanwhile
    proof     what in a log proves that the session was the push's own

Begin with `ended.await_end`. May import `push.sending`, `push.known`, `push.planned`,
`push.bundle`, `session_records`, `runs`, `kaggle` and the ground floor.
"""
