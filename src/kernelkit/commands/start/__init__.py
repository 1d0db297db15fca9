"""Commands to start with: `init` makes a repository, `local` serves a Kaggle for rehearsals."""
