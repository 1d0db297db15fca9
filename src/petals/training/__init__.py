"""Two phases: a head on stored features, then fine-tuning end to end.

Begin with `head.train_first_phase`, then `callbacks.Epochs`. Imports `petals.models`,
`petals.data`, `petals.evaluation` and `petals.accelerators`.
"""
