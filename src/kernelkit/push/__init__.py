"""A push, from the request to its results.

It is a value that goes through these stages in order, each in a module of its name:

    request       what a command or a caller asks for: made once, and read by every stage
    plan          what would be sent, with its `bundle` and its `wheels`, and `online` if assumed
                  settings need that: made of the disk and the package index, without Kaggle
    findings      what the room `checks` finds in a plan, and the TPU's compiler in its programs:
                  an error ends the push, and `check` ends
    account       what Kaggle and the ledger say: the inputs' versions, whether an `identical` push
                  is there, the account's sessions and hours. `checks` find in it what speaks
                  against sending the plan now: an error ends the push, and a dry run ends
    ready         what the push needs on Kaggle is there: its wheels, its attached folders
    sent          one version at most, in the `ledger` before it is sent, and what Kaggle `saved`
                  compared with it; or the identical push, which is taken up and never sent again;
                  `--no-wait` and `--no-run` end
    ended         how its session ended, with `live_log` and `proof`
    results       its files (`fetch`, by their `output_names`), its report, and its score, by the
                  room `submissions`

What is wanted of the results, a `Delivery`, goes beside the list to its end. Begin with
`push_kernel`, which reads like it. `check_push` cuts it after the findings; of several kernels in a
folder, it only runs the checks that need no wheels. `resume` enters it at sent, and so does
`submit` for a push; for a push's folder, `submit` only makes the same submission, and for another
file, one of its own. A rehearsal is the same list with another Kaggle: before the account is asked,
`prepare_rehearsal` finds what that one mounts, and `rehearsal_packages` what this Python lacks.
What waits for a free session stands above, in the room `watching`: a loop around the list. May
import `submissions`, `rehearsal`, `kaggle`, `notebook`, `session`, `runs`, `session_records`,
`scores`, `pages`, `tpu` and the ground floor.
"""
