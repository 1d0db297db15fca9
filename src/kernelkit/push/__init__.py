"""A push, from the request to its results.

It is a value that goes down once and comes back once, through one module for each stage:

    request   what a command or a caller asks for
    plan      what would be sent, with its `bundle`; it is made without Kaggle
    checks    what is found in the plan, then what Kaggle says about it
    ready     what the push needs and Kaggle lacks, such as `wheels`
    sent      at most one version, in the `ledger` before it is sent
    ended     how its session ended, with `live_log` and `proof`
    results   its files (`fetch`), its report, and its score, by the room `submissions`

Begin with `push_kernel`, which reads like that list. `resume`, `submit` and `when_free` enter or
repeat the stages. May import `submissions`, `rehearsal`, `kaggle`, `notebook`, `runs`, `pages`,
`tpu` and the ground floor.
"""
