"""A new repository, and the doctor, which tests what the kit assumes about Kaggle.

Begin with `new_repository.init` or `examination.examine`. May import `push`, `watching`,
`submissions`, `rehearsal`, `kaggle`, `session_records`, `notebook` and the ground floor.
"""
