"""What a run measured, and what its score is worth.

Begin with `metrics`, which has the measures of a run: those of its `metrics.json`, or else its
`printed_score`. `history` has them by epoch. `evaluation` is what the score is worth, as every page
and comparison takes it, and `score_agreement` whether the public scores of many runs follow their
validation scores. May import `notebook`, `runs`, `session_records` and the ground floor.
"""
