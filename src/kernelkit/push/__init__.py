"""A push, from the request to its results.

Begin with `command`. `bundle` makes what travels, `checks` looks at it before anything is sent. May
import `rehearsal`, `kaggle`, `notebook`, `runs`, `pages`, `tpu` and the ground floor.
"""
