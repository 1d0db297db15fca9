"""Commands that run a notebook at the desk, or compile it for a TPU: `run`, `tpu`."""
