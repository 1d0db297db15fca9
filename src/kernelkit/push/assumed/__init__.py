"""What is assumed of a notebook that has no kernel-metadata.json, from what it says itself.

    assumed        its settings: title, machine, internet and sources
    named_sources  the sources that its code names, or that its `input/` folders hold

Begin with `assumed.assume`. May import `described`, `kaggle`, `rehearsal`, `notebook` and the
ground floor.
"""
