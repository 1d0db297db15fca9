"""From an ended session to its files, its report and its score.

    results       what happens to an ended session: download, report, submission, in this order
    fetch         the files, downloaded and verified
    output_names  the names that they get here
    submit_push   the result, sent to its competition

Begin with `results.bring_home`. May import `push.awaited`, `push.known`, `push.planned`,
`push.bundle`, `submissions`, `tpu`, `pages`, `scores`, `session_records`, `runs`, `kaggle`,
`session` and the ground floor.
"""
