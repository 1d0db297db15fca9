"""Deliberate faults: which calls fail, and how.

Begin with `schedule`. Imports no other room; `fault_responses` gives the responses.
"""
