"""Places to run a sweep other than this machine: a Dask cluster, Kaggle sessions."""
