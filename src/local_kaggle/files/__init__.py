"""Files behind links, uploads that can be resumed, and the datasets and models they make.

Begin with `pages`. May import `catalogue`, `faults`, `fault_responses`, `limits`, `state` and
`wire`.
"""
