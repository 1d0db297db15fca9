"""From the desk to a Kaggle session and back: plan, preflight, send, wait, fetch, submit.

Begin with `command.push_kernel`. The request that pushes leaves from `save` and nowhere else; other
requests are repeated by `kernelkit.kaggle_api.retries`.
"""
