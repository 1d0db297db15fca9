"""What to start with: a new repository, or the settings of a notebook that is there.

Begin with `new_repository.init` or `describe.describe`. The first writes a repository from
`templates`, the second the metadata of a notebook. May import `push`, `kaggle`, `notebook` and the
ground floor.
"""
