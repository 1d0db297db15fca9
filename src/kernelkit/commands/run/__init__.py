"""Commands that run a notebook locally, or compile it for a TPU: `run`, `tpu`."""
