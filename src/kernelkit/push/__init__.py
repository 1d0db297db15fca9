"""A push, from the request to its results.

A push is a value that goes through these stages, from top to bottom. Each stage is a module; the
rooms hold those that belong together.

    planned    request    what a command or a caller wants, with the kernel's settings as they are
                          `described` on the disk, or `assumed` of a notebook without them; every
                          later stage uses it
               plan       what would be sent: its `bundle` with the cells that are `added`, and its
                          `datasets`, made without Kaggle, of the disk, git and what the project's
                          own functions say
    asked      wheels     those that the plan needs, downloaded from the package index; they are one
                          of its datasets
    checks     findings   in the plan, and where the project wants it what the TPU's compiler says,
                          which is installed first: an error ends the push, and `check` ends here
    asked      account    what Kaggle and the ledger say: whether an identical push is there, the
                          inputs' versions, the account's sessions and hours
    checks     findings   in the account: an error ends the push, and a dry run ends here
    sending    ready      the plan's datasets are on Kaggle
               sent       one version at most, in the ledger before it is sent. An identical push
                          is taken up in place of both. If its results are here, it is refused;
                          with `--once`, `--when-free` or `--chain` that is a success. `--no-run`
                          and `--no-wait` end here; with `--when-free`, `--no-wait` goes on as far
                          as it can without waiting
    awaited    ended      the folder for its files, which is claimed first, how its session ended,
                          and Kaggle's list of its files, with the manifest that proves it
    delivered  results    its files, downloaded by the room `outputs` and each compared with the
                          manifest, its report, and its score, by the room `submissions`

Begin with `push_kernel`, which reads like this list. What is wanted of the results, a `Delivery`,
goes beside the list to its end.

The room `checked` holds the part of the list before Kaggle is asked, where `kernelkit check` ends.
Of several kernels, it checks each as if it were the only one. Then the room `rehearsed` connects
Kaggle; a rehearsal is the same list with a local one, which mounts folders in place of uploads and
must wait. From Kaggle's first answer, which names the account, until it is sent, a push holds the
lock of its kernel, for which another command with the same kernel and folder of runs waits, and
`sending.arrived` first looks for what a killed command has sent. An upload, a folder of results and
a submission each have a lock of their own. A dry run connects too, but takes no lock of a kernel
and does not look.

`resume` enters the list at sent, by `bring_results`; without a reference it first looks, as a push
does, for a last push that has no version yet. `submit` enters there for a push; a file, or the
folder of a run, is only submitted. The room `watching`, above, repeats the list up to sent, with a
new request each turn, until a session and the hours for it are free, or Kaggle is silent for too
long.

May import the rooms here, `submissions`, `pages`, `session_records`, `runs`, `kaggle`, `rehearsal`,
`notebook` and the ground floor.
"""
