"""Other places where a sweep's runs go: a Dask cluster, one Kaggle session."""
