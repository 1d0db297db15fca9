"""A push, from the request to its results.

It is a value that goes down once and comes back once, through one module for each stage; each is
one public function with one argument that matters:

    request       what a command or a caller asks for: made once, and read by every stage
    plan          what would be sent, with its `bundle`: made of the disk, without Kaggle
    findings      what the room `checks` finds, in a plan and then in an account; errors end a push
    account       what Kaggle says of the account, its sessions and hours, and the inputs
    ready         what the push needs on Kaggle, such as `wheels`, is there; a dry run ends before
    sent          one version at most, in the `ledger` before it is sent, or an `identical` one
    ended         how its session ended, with `live_log` and `proof`; `--no-wait` ends before
    results       its files (`fetch`), its report, and its score, by the room `submissions`

What is wanted of the results, a `Delivery`, goes beside the list to its end. Begin with
`push_kernel`, which reads like it. `check_push` cuts it before Kaggle is asked; `resume` enters it
at sent, `submit` at results. A rehearsal is the same list with another Kaggle. What waits for a
free session stands above, in the room `watching`: a loop around the list. May import `submissions`,
`rehearsal`, `kaggle`, `notebook`, `runs`, `pages`, `tpu` and the ground floor.
"""
