"""The recorders that ride in a pushed notebook, and where they leave their files in its session.

Begin with `recording`, which keeps what cells show; `accelerator_watch` looks whether a process
uses the accelerator, `places` says where both leave their files, and `manifest` ends them and lists
every file of the session. `push.added` puts them into the notebook; at home the room
`session_records` reads them. The sources travel as text, so they import only the standard library
and nothing of the kit. May import nothing.
"""
