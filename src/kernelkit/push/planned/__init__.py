"""What is requested, and what would be sent.

    request    what a command or a caller requests: made once, and read by every later stage;
               and what is wanted of the results, a `Delivery`, which goes beside the stages
    code_file  which notebook the settings of a request are for
    plan       what would be sent: a bundle, its settings and datasets, made of the disk alone

Begin with `plan.plan_push`, from a request to a plan. May import `push.assumed`, `push.described`,
`push.datasets`, `push.bundle`, `kaggle`, `notebook` and the ground floor.
"""
