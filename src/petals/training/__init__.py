"""Two phases: a head on stored features, then fine-tuning end to end.

Begin with `features.extractor`, `head.train_head` and `fine_tune.fine_tune`. Imports
`petals.models`, `petals.data`, `petals.evaluation` and `petals.accelerators`.
"""
