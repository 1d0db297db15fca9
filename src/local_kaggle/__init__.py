"""A Kaggle for rehearsal, on loopback, that the unmodified `kaggle` client talks to.

    from local_kaggle.limits import ServerLimits
    from local_kaggle.server import LocalKaggle

    with LocalKaggle(tmp_path, limits=ServerLimits(page_size=20)) as kaggle:
        subprocess.run(["kaggle", "kernels", "push", "-p", folder],
                       env=kaggle.client_environment())

It keeps kernels, versions, sessions, datasets, submissions and quota in one folder and runs
what is pushed. Nothing here has met Kaggle itself: it behaves as public reports and the
client's source say that Kaggle does, and a session on "TPU" is eight CPU devices.
"""
