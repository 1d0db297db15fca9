"""From an ended session to its files, its report and its score.

    results      what happens to an ended session: download, report, submission, in this order
    submit_push  the result, sent to its competition

Begin with `results.bring_home`; the room `outputs` downloads the files for it. May import
`push.outputs`, `push.awaited`, `push.known`, `push.planned`, `submissions`, `tpu`, `pages`,
`scores`, `session_records`, `runs`, `session` and the ground floor.
"""
