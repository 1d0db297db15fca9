"""Where a sweep can run besides this machine: a Dask cluster, one Kaggle session."""
