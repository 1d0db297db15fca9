"""Commands to start with: `init` creates a repository, `local` serves a Kaggle for rehearsals."""
