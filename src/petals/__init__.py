"""Train a flower classifier on a TPU, on GPUs or on a CPU.

A photo becomes a batch in `petals.data`, and a batch becomes a score in the rooms after it, which
the notebook 02_train calls in this order:

    accelerators  finds the device, and chooses the Keras for it
    data          source: which data this is → shards: the photos of a split → pipeline: batches
    augment       changes the photos of a batch
    models        a backbone with its weights, and a head
    training      the head on stored features, then the whole network
    evaluation    predictions, scores, the submission
    plots         figures, and what a report lays out
    run_folder    writes it all

Beside that way, `comparison` reads several finished runs, `classify` shows new photos to a trained
model, `prepare` makes datasets at the desk, and `ahead_of_time` compiles for a TPU that is not
there. `settings` has the rules of the notebook's parameters, and `registry` the backbones.

`petals.data.pipeline` is where a record is parsed, decoded and shuffled; begin there, and read
`petals.data.shards.Split` for where its files come from.
"""
