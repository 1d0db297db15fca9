"""A new repository, and the doctor, which tests what the kit assumes about Kaggle.

Begin with `new_repository.init` or `examination.examine`. The first writes a repository from
`templates`; the second, the doctor, pushes `probe` and holds what that saw against `assumptions`.
`describe` writes the metadata of a notebook that is there. May import `push`, `watching`,
`submissions`, `rehearsal`, `kaggle`, `session_records`, `notebook` and the ground floor.
"""
