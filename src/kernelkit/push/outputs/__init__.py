"""The files of a session, downloaded: complete, verified, and each under its right name.

    fetch             the files of a push come into its folder, and what is told of them
    chosen_outputs    which of them are downloaded, and which stay on Kaggle
    output_downloads  many at a time, each whole or not at all
    output_names      where each stands here

Begin with `fetch.fetch`. May import `push.known`, `session_records`, `runs`, `session`,
`kaggle` and the ground floor.
"""
