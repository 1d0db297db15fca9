"""The recorders that ride in a pushed notebook, and where they leave their files in its session.

Begin with `recording`, which keeps what cells show; `accelerator_watch` looks whether a process
uses the accelerator, and `places` says where both leave their files. `push.bundle.build` puts them
into the notebook, and `push.bundle.manifest` ends their files; at home the room `session_records`
reads them. The sources travel as text, so they import only the standard library and nothing of the
kit. May import nothing.
"""
