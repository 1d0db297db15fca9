"""Deliberate faults: when they happen (`schedule`) and the responses they give (`responses`).

May import `state` and `serving`.
"""
