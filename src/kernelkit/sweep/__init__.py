"""Sweeps: many runs of one notebook from one YAML file, one table, nothing lost."""
