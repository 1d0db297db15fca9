"""What a rehearsal's Kaggle holds for a plan, before it is asked.

    prepare_rehearsal   the inputs that it mounts
    rehearsal_packages  the packages that this Python lacks for it

Begin with `prepare_rehearsal.prepare`. May import `push.known`, `push.planned`, `push.datasets`,
`kaggle`, `rehearsal`, `notebook` and the ground floor.
"""
