"""The second run of a code competition: a submitted version, run again on hidden data.

Begin with `reruns`. May import `execution`, `catalogue`, `limits` and `store`.
"""
