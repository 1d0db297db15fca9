"""A push, from the request to its results.

Begin with `push_kernel`. `bundle` makes what travels, `checks` looks at it before it is sent. May
import `rehearsal`, `kaggle`, `notebook`, `runs`, `pages`, `tpu` and the ground floor.
"""
