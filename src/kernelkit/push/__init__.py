"""A push, from the request to its results.

It is a value that goes through these stages in order, each in a module of its name. The rooms are
the ways between what is known by then:

    planned    request, what a command or a caller asks for: made once, and read by every stage
               plan, what would be sent, with its settings, its `bundle` and its `datasets`: made
               of the disk, without Kaggle
    checks     findings in a plan, and by the TPU's compiler in its programs: an error ends the
               push, and `check` ends
    known      account, what Kaggle and the ledger say: the inputs' versions, whether an identical
               push is there, the account's sessions and hours. `checks` find in it what speaks
               against sending the plan now: an error ends the push, and a dry run ends
    sending    ready, what the push needs on Kaggle is there: its wheels, its attached folders
               sent, one version at most, in the ledger before it is sent; or the identical push,
               which is taken up and never sent again; `--no-wait` and `--no-run` end
    awaited    ended, how its session ended
    delivered  results, its files, its report, and its score, by the room `submissions`

What is wanted of the results, a `Delivery`, goes beside the list to its end. Begin with
`push_kernel`, which reads like it. `check_push` cuts it after the findings; of several kernels in a
folder, it only runs the checks that need no wheels. `resume` enters it at sent, and so does
`submit` for a push; for a push's folder, `submit` only makes the same submission, and for another
file, one of its own. `online` gives assumed settings the internet if the code needs it. A rehearsal
is the same list with another Kaggle: before the account is asked, the room `rehearsed` finds what
that one mounts. What waits for a free session stands above, in the room `watching`: a loop around
the list. May import the rooms here, `submissions`, `tpu`, `pages`, `session_records`, `runs`,
`kaggle`, `rehearsal`, `notebook` and the ground floor.
"""
