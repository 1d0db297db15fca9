"""What a rehearsal's Kaggle holds for a plan, before it is asked.

    prepare_rehearsal   the connection to it, with the inputs that it mounts; or to Kaggle itself
    plan_inputs         a plan's inputs that are on this machine, or are downloaded now
    rehearsal_packages  the packages that this Python lacks for it

Begin with `prepare_rehearsal.connected`. May import `push.known`, `push.planned`, `push.datasets`,
`kaggle`, `rehearsal`, `notebook` and the ground floor.
"""
