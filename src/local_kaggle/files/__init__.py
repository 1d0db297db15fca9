"""Files behind signed links, uploads that can be resumed, and the datasets and models they make.

Begin with `pages`. May import `api`, `catalogue`, `faults` and `state`.
"""
